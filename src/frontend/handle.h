#pragma once

#include "target/target.h"

#include <fusednn/handle.h>

FUSEDNN_BEGIN_NAMESPACE

struct handle_impl {
  target::Target target;
  void* stream = nullptr;
};

FUSEDNN_END_NAMESPACE
