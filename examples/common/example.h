#pragma once

#include <fusednn.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <unordered_map>

namespace examples {

inline void check(const fusednn::error_t& outcome) {
  if (outcome.is_bad()) throw std::runtime_error(outcome.get_message());
}

class Handle {
 public:
  explicit Handle(fusednn::Device device) { check(fusednn::create(&handle_, device)); }
  ~Handle() { (void)fusednn::destroy(handle_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator fusednn::handle_t() const { return handle_; }

 private:
  fusednn::handle_t handle_ = nullptr;
};

// The body of a main function: its result, or 1 with the message of what it threw.
template <class Body>
int guarded(Body body) {
  try {
    return body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

// Runs the chosen plan and the reference on the same tensors; 0 where every element is within its bound.
inline int compare_with_reference(fusednn::handle_t handle, const fusednn::graph::Graph& graph,
                                  std::unordered_map<int64_t, void*>& pack, void* workspace) {
  std::string plan;
  check(graph.get_plan_name(plan));
  fusednn::graph::Check_report report;
  check(graph.check_ext(handle, pack, workspace, report));
  std::printf("plan %s: %lld elements, worst error %.3g%% of its bound\n", plan.c_str(),
              static_cast<long long>(report.elements), 100 * report.worst_error_over_bound);
  if (!report.matches) std::printf("%s\n", report.message.c_str());
  return report.matches ? 0 : 1;
}

// Main function of a program that shows one graph: runs it, or prints it as validation completes it for
// `--json`.
inline int graph_program(int argc, char** argv, fusednn::graph::Graph (*make_graph)(), int (*run)()) {
  return guarded([&] {
    if (argc == 1) return run();
    if (argc != 2 || std::strcmp(argv[1], "--json") != 0)
      throw std::runtime_error(std::string("usage: ") + argv[0] + " [--json]");
    fusednn::graph::Graph graph = make_graph();
    check(graph.validate());
    std::printf("%s", graph.to_json_ext().c_str());
    return 0;
  });
}

}  // namespace examples
