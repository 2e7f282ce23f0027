#pragma once

#include "serial/document.h"
#include "serial/json_writer.h"

#include <fusednn/tensor.h>

#include <optional>

// Numbers as graph text spells them. cudnn_frontend writes the eight hex digits of a float's bits where this library
// writes a number; a value that no JSON number has is a string: "NaN", "Infinity", "-Infinity", and "0x..." for the
// bits of any other NaN.

namespace fusednn::serial {

/// A number, one of the names above, or the hex digits of a float.
std::optional<double> read_real(JsonValue const& value);

/// Types that a scalar has in graph text, by the index that stands for each.
inline constexpr DataType_t scalar_types[] = {DataType_t::INT64, DataType_t::INT32,  DataType_t::HALF,
                                              DataType_t::FLOAT, DataType_t::DOUBLE, DataType_t::BFLOAT16};

/// Index of the type in `scalar_types`, -1 where it is not a scalar's.
int64_t scalar_index(DataType_t type);

/// nullopt where the value is no number of this type, or rounds to an infinite one.
std::optional<graph::Scalar_value> read_scalar(DataType_t type, JsonValue const& value);

void write_scalar(JsonWriter& out, graph::Scalar_value const& scalar);

}  // namespace fusednn::serial
