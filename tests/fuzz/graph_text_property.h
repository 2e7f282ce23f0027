#pragma once

#include <string>
#include <string_view>

namespace fusednn::tests {

/// Reads text of any kind and, where that gives a graph, validates, keys, draws and writes it. Returns what went wrong,
/// empty where all is well: text that is refused has a message; a graph that was read is written as text that gives
/// the same text and key again.
std::string check_graph_text(std::string_view text);

}  // namespace fusednn::tests
