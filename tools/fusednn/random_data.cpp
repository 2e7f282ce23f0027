#include "random_data.h"

#include <nlohmann/json.hpp>

#include <cstring>
#include <random>

namespace tool {

namespace {

using nlohmann::json;

/// Ports, by name, whose values are not free. Lengths count rows of the tensor at another port.
struct PortRole {
  std::string_view port;
  Role::Kind kind;
  std::string_view counted = {};
};
constexpr PortRole port_roles[] = {
    {"EPSILON", Role::Kind::tiny},           {"INV_VARIANCE", Role::Kind::positive},
    {"SCALE", Role::Kind::positive},         {"Attn_scale", Role::Kind::positive},
    {"SEQ_LEN_Q", Role::Kind::lengths, "Q"}, {"SEQ_LEN_KV", Role::Kind::lengths, "K"},
};

json const* tensor_at(json const& graph, json const& reference) {
  json const& tensors = graph.at("tensors");
  auto const at =
      tensors.find(reference.is_number() ? std::to_string(reference.get<int64_t>()) : reference.get<std::string>());
  return at == tensors.end() ? nullptr : &*at;
}

int64_t product_from(json const& dims, size_t first) {
  int64_t product = 1;
  for (size_t i = first; i < dims.size(); ++i) product *= dims[i].get<int64_t>();
  return product;
}

/// A code of the type with a random significand, and 1/16 <= |value| < 1, or 1e-3 and less for `tiny`.
uint64_t random_code(TypeRow const& type, Role::Kind kind, std::mt19937_64& random) {
  uint64_t const bits = random();
  int const bias = (1 << (type.exponent_bits - 1)) - 1;
  int const exponent = kind == Role::Kind::tiny ? std::max(bias - 10, 1) : bias - 1 - static_cast<int>(bits >> 62);
  uint64_t const significand = bits & ((uint64_t(1) << type.significand_bits) - 1);
  bool const negative = kind == Role::Kind::any && (bits >> 61 & 1);
  return uint64_t(negative) << (type.exponent_bits + type.significand_bits) |
         static_cast<uint64_t>(exponent) << type.significand_bits | significand;
}

int64_t random_integer(TypeRow const& type, Role role, int64_t index, std::mt19937_64& random) {
  constexpr int64_t largest = 8;  // small enough for sums of products to stay in range
  auto below = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  switch (role.kind) {
    case Role::Kind::lengths:
      return index == 0 ? role.limit : below(role.limit + 1);
    case Role::Kind::offsets:
      return index * role.limit;
    case Role::Kind::positive:
    case Role::Kind::tiny:
      return 1 + below(largest);
    case Role::Kind::any:
      break;
  }
  if (type.type == fusednn::DataType_t::BOOLEAN) return below(2);
  return type.is_signed ? below(2 * largest + 1) - largest : below(largest + 1);
}

uint64_t name_hash(std::string const& name) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (unsigned char c : name) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::unordered_map<int64_t, Role> roles_of(json const& graph) {
  std::unordered_map<int64_t, Role> roles;
  for (json const& node : graph.at("nodes")) {
    json const& inputs = node.at("inputs");
    for (PortRole const& p : port_roles) {
      auto const at = inputs.find(std::string(p.port));
      if (at == inputs.end() || !at->is_number()) continue;
      Role role{p.kind, 0};
      if (auto const counted = inputs.find(std::string(p.counted)); counted != inputs.end())
        if (json const* tensor = tensor_at(graph, *counted); tensor && tensor->at("dim").size() > 2)
          role.limit = tensor->at("dim")[2].get<int64_t>();
      roles[at->get<int64_t>()] = role;
    }
  }
  for (json const& tensor : graph.at("tensors")) {
    if (auto const offsets = tensor.find("ragged_offset"); offsets != tensor.end() && offsets->is_number())
      roles[offsets->get<int64_t>()] = {Role::Kind::offsets, product_from(tensor.at("dim"), 1)};
    int64_t const uid = tensor.at("uid").get<int64_t>();
    bool const scalar = product_from(tensor.at("dim"), 0) == 1;
    if (scalar && !roles.count(uid)) roles[uid] = {Role::Kind::positive, 0};
  }
  return roles;
}

void fill_random(HostTensor& tensor, Role role, uint64_t seed, std::string const& name) {
  std::mt19937_64 random(seed ^ name_hash(name));
  TypeRow const& type = tensor.type();
  tensor.for_each([&](std::byte* at, int64_t index) {
    uint64_t const code = type.exponent_bits > 0 ? random_code(type, role.kind, random)
                                                 : static_cast<uint64_t>(random_integer(type, role, index, random));
    std::memcpy(at, &code, type.bytes);
  });
}

}  // namespace tool
