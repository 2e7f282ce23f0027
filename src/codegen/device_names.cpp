#include "codegen/device_names.h"

#include "math/pointwise.h"

namespace fusednn::codegen {

std::string_view lane_name(DataType_t type) {
  return type == DataType_t::DOUBLE ? "double" : type == DataType_t::INT32 ? "int" : "float";
}

std::string_view storage_name(DataType_t type) {
  switch (type) {
    case DataType_t::FLOAT:
      return "Float";
    case DataType_t::DOUBLE:
      return "Double";
    case DataType_t::HALF:
      return "Half";
    case DataType_t::BFLOAT16:
      return "Bf16";
    case DataType_t::FP8_E4M3:
      return "E4m3";
    case DataType_t::FP8_E5M2:
      return "E5m2";
    case DataType_t::INT8:
      return "Int8";
    case DataType_t::UINT8:
      return "Uint8";
    case DataType_t::INT32:
      return "Int32";
    case DataType_t::INT64:
      return "Int64";
    case DataType_t::BOOLEAN:
      return "Boolean";
    default:
      return "";
  }
}

std::string_view functor_name(PointwiseMode_t mode) {
  switch (mode) {
#define FUSEDNN_CASE(name, functor, operands, kind) \
  case PointwiseMode_t::name:                       \
    return #functor;
    FUSEDNN_POINTWISE_FUNCTORS(FUSEDNN_CASE)
#undef FUSEDNN_CASE
    case PointwiseMode_t::NOT_SET:
      break;
  }
  return "";
}

std::string_view fold_name(ReductionMode_t mode) {
  switch (mode) {
    case ReductionMode_t::ADD:
    case ReductionMode_t::AVG:
      return "FoldAdd";
    case ReductionMode_t::MUL:
      return "FoldMul";
    case ReductionMode_t::MIN:
      return "FoldMin";
    case ReductionMode_t::MAX:
      return "FoldMax";
    case ReductionMode_t::AMAX:
      return "FoldAbsMax";
    case ReductionMode_t::NORM1:
      return "FoldAbsAdd";
    case ReductionMode_t::NORM2:
      return "FoldSquareAdd";
    case ReductionMode_t::MUL_NO_ZEROS:
      return "FoldMulNonZero";
    case ReductionMode_t::NOT_SET:
      break;
  }
  return "";
}

}  // namespace fusednn::codegen
