#pragma once

// The public API of fuseDNN: declare tensors, chain operations, then
// validate -> build_operation_graph -> create_execution_plans -> check_support -> build_plans -> execute.

#include <fusednn/attributes.h>
#include <fusednn/enums.h>
#include <fusednn/error.h>
#include <fusednn/graph.h>
#include <fusednn/handle.h>
#include <fusednn/memory.h>
#include <fusednn/tensor.h>
#include <fusednn/version.h>
