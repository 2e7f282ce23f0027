#pragma once

#include "host_tensor.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <unordered_map>

namespace tool {

/// What the values of an input have to be like for the graph to make sense.
struct Role {
  enum class Kind {
    any,       ///< either sign; integers are small
    positive,  ///< scales, statistics
    tiny,      ///< epsilons
    lengths,   ///< integers from 0 to `limit`, the first one `limit` itself
    offsets,   ///< 0, limit, 2 limit, ...
  } kind = Kind::any;
  int64_t limit = 0;
};

/// Roles by uid, from a built graph's text: what the ports say that read the tensor.
std::unordered_map<int64_t, Role> roles_of(nlohmann::json const& graph);

/// The same values for the same seed and name on every machine.
void fill_random(HostTensor& tensor, Role role, uint64_t seed, std::string const& name);

}  // namespace tool
