#include "base/enum_names.h"

#include <fusednn/error.h>

#include <iterator>

namespace fusednn::base {

std::optional<int64_t> EnumNames::value(std::string_view name) const {
  for (int i = 0; i < count; ++i)
    if (names[i] == name) return i;
  return std::nullopt;
}

#define FUSEDNN_NAME(name) #name,
#define FUSEDNN_ENUM_NAMES(Enum, FIRST, LIST)                                 \
  template <>                                                                 \
  EnumNames const& enum_names<Enum>() {                                       \
    static constexpr std::string_view names[] = {FIRST LIST(FUSEDNN_NAME)};   \
    static constexpr EnumNames table = {#Enum, names, int(std::size(names))}; \
    return table;                                                             \
  }
#define FUSEDNN_NOT_SET "NOT_SET",
#define FUSEDNN_NOTHING

FUSEDNN_ENUM_NAMES(DataType_t, FUSEDNN_NOT_SET, FUSEDNN_DATA_TYPES)
FUSEDNN_ENUM_NAMES(PointwiseMode_t, FUSEDNN_NOT_SET, FUSEDNN_POINTWISE_MODES)
FUSEDNN_ENUM_NAMES(ReductionMode_t, FUSEDNN_NOT_SET, FUSEDNN_REDUCTION_MODES)
FUSEDNN_ENUM_NAMES(NormFwdPhase_t, FUSEDNN_NOT_SET, FUSEDNN_NORM_FWD_PHASES)
FUSEDNN_ENUM_NAMES(HeurMode_t, FUSEDNN_NOTHING, FUSEDNN_HEUR_MODES)
FUSEDNN_ENUM_NAMES(BuildPlanPolicy_t, FUSEDNN_NOTHING, FUSEDNN_BUILD_PLAN_POLICIES)
FUSEDNN_ENUM_NAMES(ReshapeMode_t, FUSEDNN_NOTHING, FUSEDNN_RESHAPE_MODES)
FUSEDNN_ENUM_NAMES(TensorReordering_t, FUSEDNN_NOTHING, FUSEDNN_TENSOR_REORDERINGS)
FUSEDNN_ENUM_NAMES(DiagonalAlignment_t, FUSEDNN_NOTHING, FUSEDNN_DIAGONAL_ALIGNMENTS)
FUSEDNN_ENUM_NAMES(AttentionImplementation_t, FUSEDNN_NOTHING, FUSEDNN_ATTENTION_IMPLEMENTATIONS)
FUSEDNN_ENUM_NAMES(BehaviorNote_t, FUSEDNN_NOT_SET, FUSEDNN_BEHAVIOR_NOTES)
FUSEDNN_ENUM_NAMES(NumericalNote_t, FUSEDNN_NOT_SET, FUSEDNN_NUMERICAL_NOTES)
FUSEDNN_ENUM_NAMES(KnobType_t, FUSEDNN_NOT_SET, FUSEDNN_KNOB_TYPES)
FUSEDNN_ENUM_NAMES(error_code_t, FUSEDNN_NOTHING, FUSEDNN_ERROR_CODES)

}  // namespace fusednn::base
