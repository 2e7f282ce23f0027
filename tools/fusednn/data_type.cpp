#include "data_type.h"

namespace tool {

using fusednn::DataType_t;

std::string_view name_of(DataType_t type) {
#define FUSEDNN_TYPE_NAME(name) \
  case DataType_t::name:        \
    return #name;
  switch (type) {
    case DataType_t::NOT_SET:
      break;
      FUSEDNN_DATA_TYPES(FUSEDNN_TYPE_NAME)
  }
#undef FUSEDNN_TYPE_NAME
  return "NOT_SET";
}

TypeRow const* find_type(DataType_t type) {
  static std::vector<TypeRow> const table = {
      {DataType_t::FLOAT, 4, {"f4"}, 8, 23},
      {DataType_t::DOUBLE, 8, {"f8"}, 11, 52},
      {DataType_t::HALF, 2, {"f2"}, 5, 10},
      {DataType_t::BFLOAT16, 2, {"u2", "V2"}, 8, 7},
      {DataType_t::FP8_E4M3, 1, {"u1", "V1"}, 4, 3},
      {DataType_t::FP8_E5M2, 1, {"u1", "V1"}, 5, 2},
      {DataType_t::INT8, 1, {"i1"}},
      {DataType_t::UINT8, 1, {"u1"}, 0, 0, false},
      {DataType_t::INT32, 4, {"i4"}},
      {DataType_t::INT64, 8, {"i8"}},
      {DataType_t::BOOLEAN, 1, {"b1"}, 0, 0, false},
  };
  for (TypeRow const& row : table)
    if (row.type == type) return &row;
  return nullptr;
}

}  // namespace tool
