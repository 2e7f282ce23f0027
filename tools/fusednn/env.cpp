#include "commands.h"
#include "failure.h"

#include <fusednn.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <memory>

namespace tool {

std::string version_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

namespace {

/// The device in words, or why it cannot be used.
std::string device_text(fusednn::Device device) {
  fusednn::handle_t handle = nullptr;
  fusednn::error_t const outcome = fusednn::create(&handle, device);
  if (outcome.is_bad()) return outcome.get_message();
  std::string const text = fusednn::describe_device_ext(handle);
  check(fusednn::destroy(handle));
  return text;
}

int show_environment(bool json) {
  std::string const library = version_text(fusednn::version()), headers = version_text(FUSEDNN_VERSION);
  std::string const cpu = device_text(fusednn::Device::CPU), cuda = device_text(fusednn::Device::CUDA);
  std::string const search = fusednn::describe_cuda_ext(), variables = fusednn::describe_environment_ext();
  auto lines = [](std::string const& text) {
    auto list = nlohmann::ordered_json::array();
    for (std::string const& line : CLI::detail::split(text, '\n'))
      if (!line.empty()) list.push_back(line);
    return list;
  };
  if (json) {
    nlohmann::ordered_json out = {
        {"library", library}, {"headers", headers}, {"devices", {{"cpu", cpu}, {"cuda", cuda}}}};
    out["search"] = lines(search);
    out["variables"] = lines(variables);
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("library    {}\nheaders    {}\ncpu        {}\ncuda       {}\n\n{}\n{}", library, headers, cpu, cuda,
               search, variables);
  }
  return exit_ok;
}

}  // namespace

void add_env(CLI::App& app, Action& action) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("env", "Versions, devices and the environment variables that are read");
  command->add_flag("--json", *json, "For machines");
  command->callback([json, &action] { action = [json] { return show_environment(*json); }; });
}

}  // namespace tool
