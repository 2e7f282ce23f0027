#pragma once

#include "cuda/context.h"
#include "target/target.h"

#include <fusednn/handle.h>

FUSEDNN_BEGIN_NAMESPACE

struct handle_impl {
  target::Target target;
  void* stream = nullptr;
  std::shared_ptr<cuda::PrimaryContext const> context = nullptr;  ///< of a CUDA device
};

FUSEDNN_END_NAMESPACE
