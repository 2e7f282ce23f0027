#include "cuda/device.h"

#include <array>

namespace fusednn::cuda {

base::Result<int> device_count() {
  base::Result<Driver const*> d = driver();
  if (!d) return d.errors();
  int count = 0;
  if (DriverCode code = (*d)->device_count(&count)) return (*d)->error(code, "cuDeviceGetCount");
  return count;
}

base::Result<DeviceInfo> device_info(int ordinal) {
  base::Result<Driver const*> d = driver();
  if (!d) return d.errors();
  Driver const& driver = **d;
  DeviceOrdinal device = 0;
  if (DriverCode code = driver.device_get(&device, ordinal)) return driver.error(code, "cuDeviceGet");
  DeviceInfo info;
  std::array<char, 256> name{};
  if (DriverCode code = driver.device_name(name.data(), static_cast<int>(name.size()) - 1, device))
    return driver.error(code, "cuDeviceGetName");
  info.name = name.data();
  size_t memory = 0;
  if (DriverCode code = driver.device_memory(&memory, device)) return driver.error(code, "cuDeviceTotalMem");
  info.memory_bytes = static_cast<int64_t>(memory);
  int major = 0, minor = 0, l2 = 0, shared = 0;
  struct {
    int attribute;
    int* value;
  } const wanted[] = {{device_attribute::compute_major, &major},
                      {device_attribute::compute_minor, &minor},
                      {device_attribute::multiprocessors, &info.multiprocessors},
                      {device_attribute::l2_bytes, &l2},
                      {device_attribute::shared_bytes_per_block_optin, &shared}};
  for (auto [attribute, value] : wanted)
    if (DriverCode code = driver.device_attribute(value, attribute, device))
      return driver.error(code, "cuDeviceGetAttribute");
  info.sm = 10 * major + minor;
  info.l2_bytes = l2;
  info.shared_bytes_per_block = shared;
  // Newer drivers may stop telling clocks; nothing but cost estimates depends on them.
  int clock = 0, memory_clock = 0, bus = 0;
  driver.device_attribute(&clock, device_attribute::clock_khz, device);
  driver.device_attribute(&memory_clock, device_attribute::memory_clock_khz, device);
  driver.device_attribute(&bus, device_attribute::memory_bus_bits, device);
  info.clock_hz = 1e3 * clock;
  info.memory_bytes_per_second = 2e3 * memory_clock * bus / 8;  // two transfers per clock
  return info;
}

}  // namespace fusednn::cuda
