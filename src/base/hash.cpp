#include "base/hash.h"

#include <xxhash.h>

#include <new>

namespace fusednn {

Hasher::Hasher(uint64_t seed) : state_(XXH3_createState()) {
  if (!state_) throw std::bad_alloc();
  XXH3_64bits_reset_withSeed(state_.get(), seed);
}

Hasher& Hasher::add_bytes(void const* data, size_t size) {
  if (size > 0) XXH3_64bits_update(state_.get(), data, size);
  return *this;
}

uint64_t Hasher::digest() const { return XXH3_64bits_digest(state_.get()); }

void Hasher::Free::operator()(XXH3_state_s* state) const noexcept { XXH3_freeState(state); }

}  // namespace fusednn
