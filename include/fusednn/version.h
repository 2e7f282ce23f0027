#pragma once

#include <fusednn/export.h>

#define FUSEDNN_VERSION_MAJOR 0
#define FUSEDNN_VERSION_MINOR 1
#define FUSEDNN_VERSION_PATCH 0
#define FUSEDNN_VERSION (FUSEDNN_VERSION_MAJOR * 10000 + FUSEDNN_VERSION_MINOR * 100 + FUSEDNN_VERSION_PATCH)

FUSEDNN_BEGIN_NAMESPACE

/// Version of the library that was loaded: major * 10000 + minor * 100 + patch. Programs compare it with
/// FUSEDNN_VERSION, the version of the headers; `create` does so for them.
FUSEDNN_EXPORT int version() noexcept;

FUSEDNN_END_NAMESPACE
