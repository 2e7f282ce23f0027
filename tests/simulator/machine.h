#pragma once

#include <memory>
#include <string>

// Runs kernels that tests/simulator/compiler.cpp has made, block after block. The threads of a block take turns: one
// runs until it waits for others. Warps take turns forwards in even blocks and backwards in odd ones, so that a barrier
// that is missing between two warps shows in one of them.

namespace fusednn::simulator {

class Library;

/// Loads an image; nothing where it is none of the compiler's.
std::shared_ptr<Library> load(void const* image);

using Kernel = void (*)(void** parameters);
Kernel find(Library const& library, std::string const& entry);

/// Ends the process with a message where the threads of a block wait for each other for ever.
void launch(Library const& library, Kernel kernel, unsigned const (&grid)[3], unsigned const (&block)[3],
            void** parameters);

}  // namespace fusednn::simulator
