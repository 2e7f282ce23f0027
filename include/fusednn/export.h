#pragma once

#if defined(_WIN32)
#error "fuseDNN supports ELF platforms only"
#endif

#if defined(FUSEDNN_BUILDING)
#define FUSEDNN_EXPORT __attribute__((visibility("default")))
#else
#define FUSEDNN_EXPORT
#endif

// Everything public lives in one versioned inline namespace, so that two versions of the library can be loaded
// into one process without their symbols meeting.
#define FUSEDNN_BEGIN_NAMESPACE \
  namespace fusednn {           \
  inline namespace v0 {
#define FUSEDNN_END_NAMESPACE \
  }                           \
  }
