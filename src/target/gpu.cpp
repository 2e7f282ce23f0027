#include "target/gpu.h"

#include <fmt/format.h>

#include <algorithm>

namespace fusednn::target {

namespace {

constexpr int KiB = 1024;
constexpr int64_t MiB = 1024 * 1024;

constexpr GpuFeatures ampere = {};
constexpr GpuFeatures ada = {.fp8 = true};
constexpr GpuFeatures hopper = {.fp8 = true,
                                .bulk_copy = true,
                                .cluster = true,
                                .programmatic_launch = true,
                                .wgmma = true,
                                .register_reallocation = true};
constexpr GpuFeatures blackwell = {.fp8 = true,
                                   .bulk_copy = true,
                                   .cluster = true,
                                   .programmatic_launch = true,
                                   .tensor_memory = true,
                                   .register_reallocation = true};
// Clusters launch there but have no multicast, so nothing is gained by them.
constexpr GpuFeatures blackwell_desktop = {
    .fp8 = true, .bulk_copy = true, .programmatic_launch = true, .register_reallocation = true};

// One row per architecture, oldest first. 1 KiB of an SM's shared memory per block goes to the system.
constexpr GpuArch table[] = {
    // sm, name, features, shared per block and SM, threads, blocks, SMs, L2, memory bytes/s, clock
    {80, "sm_80", ampere, 163 * KiB, 164 * KiB, 2048, 32, 108, 40 * MiB, 1.555e12, 1.41e9},              // A100
    {86, "sm_86", ampere, 99 * KiB, 100 * KiB, 1536, 16, 82, 6 * MiB, 0.936e12, 1.70e9},                 // RTX 3090
    {89, "sm_89", ada, 99 * KiB, 100 * KiB, 1536, 24, 128, 72 * MiB, 1.008e12, 2.52e9},                  // RTX 4090
    {90, "sm_90a", hopper, 227 * KiB, 228 * KiB, 2048, 32, 132, 50 * MiB, 4.8e12, 1.98e9},               // H200
    {100, "sm_100a", blackwell, 227 * KiB, 228 * KiB, 2048, 32, 148, 126 * MiB, 8.0e12, 1.96e9},         // B200
    {103, "sm_103a", blackwell, 227 * KiB, 228 * KiB, 2048, 32, 148, 126 * MiB, 8.0e12, 1.92e9},         // B300
    {120, "sm_120a", blackwell_desktop, 99 * KiB, 100 * KiB, 1536, 24, 170, 96 * MiB, 1.79e12, 2.41e9},  // RTX 5090
    {121, "sm_121a", blackwell_desktop, 99 * KiB, 100 * KiB, 1536, 24, 48, 24 * MiB, 0.273e12, 2.42e9},  // GB10
};

constexpr bool ordered() {
  for (size_t i = 1; i < std::size(table); ++i)
    if (table[i - 1].sm >= table[i].sm) return false;
  return true;
}
static_assert(ordered());

Gpu from_row(GpuArch const& row) {
  GpuFacts const usual = {
      row.sm, row.multiprocessors, row.l2_bytes, row.shared_bytes_per_block, row.memory_bytes_per_second, row.clock_hz};
  return {usual, std::string(row.name), row.can, row.shared_bytes_per_sm, row.threads_per_sm, row.blocks_per_sm};
}

}  // namespace

std::span<GpuArch const> gpu_archs() { return table; }

base::Result<Gpu> gpu_of(GpuFacts const& facts) {
  GpuArch const* row = nullptr;
  for (GpuArch const& r : table)
    if (r.sm <= facts.sm) row = &r;
  if (!row)
    return base::make_error(base::Rule::handle_device, {},
                            fmt::format("compute capability {}.{}, the oldest supported is {}.{}", facts.sm / 10,
                                        facts.sm % 10, table[0].sm / 10, table[0].sm % 10));
  Gpu gpu = from_row(*row);
  if (row->sm != facts.sm) {
    gpu.sm = facts.sm;
    gpu.arch = fmt::format("compute_{}", row->sm);
    gpu.can.wgmma = gpu.can.tensor_memory = gpu.can.register_reallocation = false;
  }
  auto take = [](auto& to, auto found) {
    if (found > 0) to = found;
  };
  take(gpu.multiprocessors, facts.multiprocessors);
  take(gpu.l2_bytes, facts.l2_bytes);
  take(gpu.shared_bytes_per_block, facts.shared_bytes_per_block);
  take(gpu.memory_bytes_per_second, facts.memory_bytes_per_second);
  take(gpu.clock_hz, facts.clock_hz);
  return gpu;
}

base::Result<Gpu> gpu_for_arch(std::string_view arch) {
  std::string names;
  for (GpuArch const& row : table) {
    std::string const number = std::to_string(row.sm);
    if (arch == row.name || arch == "sm_" + number || arch == number) return from_row(row);
    names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  }
  return base::make_error(base::Rule::handle_device, {}, fmt::format("architecture '{}', there are {}", arch, names));
}

}  // namespace fusednn::target
