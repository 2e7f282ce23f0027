#include <fusednn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

// Graphs with built plans, and handles, that live longer than main() or end with their thread: the process must end
// well however they are stored, and whichever is destroyed first.

namespace {

namespace fe = fusednn;
using fe::graph::Graph;

/// Destroys its handle when it ends, like the caches of frameworks do.
struct Owner {
  ~Owner() {
    if (fe::destroy(handle).is_bad()) std::_Exit(3);
  }
  fe::handle_t handle = nullptr;
};

/// Builds C = A B and runs it.
bool use(Graph& graph, Owner& owner) {
  using fe::graph::Tensor_attributes;
  graph.set_io_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
  auto matrix = [&](int64_t uid) {
    return graph.tensor(Tensor_attributes().set_dim({1, 40, 40}).set_stride({1600, 40, 1}).set_uid(uid));
  };
  auto c = graph.matmul(matrix(0), matrix(1), fe::graph::Matmul_attributes());
  c->set_output(true).set_uid(2);
  if (fe::create(&owner.handle, fe::Device::CPU).is_bad()) return false;
  if (graph.build(owner.handle, {fe::HeurMode_t::A}).is_bad()) return false;
  std::vector<float> a(1600, 1), b(1600, 2), result(1600);
  std::vector<char> workspace(static_cast<size_t>(graph.get_workspace_size()));
  std::unordered_map<int64_t, void*> pack = {{0, a.data()}, {1, b.data()}, {2, result.data()}};
  return graph.execute(owner.handle, pack, workspace.data()).is_good() && result[0] == 80 && result[1599] == 80;
}

// Destroyed in the opposite order: once the handle first, once the graph.
Graph graph_under_handle;
Owner handle_over_graph;
Owner handle_under_graph;
Graph graph_over_handle;
std::unique_ptr<Graph> copy;

thread_local Owner handle_of_thread;
thread_local Graph graph_of_thread;

bool use_all() {
  // Never destroyed, but reachable, which is no leak to the address sanitizer.
  static Graph* const kept_graph = new Graph;
  static Owner* const kept_handle = new Owner;
  bool good = use(*kept_graph, *kept_handle) && use(graph_under_handle, handle_over_graph) &&
              use(graph_over_handle, handle_under_graph) && use(graph_of_thread, handle_of_thread);
  copy = std::make_unique<Graph>(graph_under_handle);
  std::thread([&] { good = use(graph_of_thread, handle_of_thread) && good; }).join();
  return good;
}

}  // namespace

int main(int, char** argv) {
  if (!use_all()) return 1;
  if (std::strcmp(argv[1], "exit") == 0) std::exit(0);
  if (std::strcmp(argv[1], "exit_in_thread") == 0) std::thread([] { std::exit(0); }).join();
  return 0;
}
