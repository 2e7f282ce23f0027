#include "simulator/machine.h"

#include "simulator/device/machine_state.h"

#include <dlfcn.h>
#include <elf.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <vector>

namespace fusednn::simulator {

using ::simulator::Dim3;
using ::simulator::Machine;

class Library {
 public:
  explicit Library(void* handle) : handle_(handle) {}
  Library(Library const&) = delete;
  ~Library() { dlclose(handle_); }
  void* symbol(char const* name) const { return dlsym(handle_, name); }

 private:
  void* handle_;
};

std::shared_ptr<Library> load(void const* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, SELFMAG);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return nullptr;
  std::memcpy(&header, image, sizeof(header));
  // The table of sections is what linkers write last.
  size_t const bytes = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  // Loading goes by name: each image needs one that no other has had.
  std::string name = (std::filesystem::temp_directory_path() / "fusednn-kernel-XXXXXX").string();
  int const file = mkstemp(name.data());
  bool const written = write(file, image, bytes) == static_cast<ssize_t>(bytes);
  void* handle = written ? dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  close(file);
  unlink(name.c_str());
  if (!handle) return std::fprintf(stderr, "simulator: %s\n", dlerror()), nullptr;
  return std::make_shared<Library>(handle);
}

Kernel find(Library const& library, std::string const& entry) {
  return reinterpret_cast<Kernel>(library.symbol(("simulate_" + entry).c_str()));
}

namespace {

enum class Wait : uint8_t { nothing, warp, block, done };

constexpr size_t stack_bytes = 256 << 10;

struct Thread {
  jmp_buf place;
  Wait wait = Wait::done;
  unsigned mask = 0;  ///< of the exchange that it waits in
  unsigned turn = 0;  ///< which half of the warp's slots the next exchange uses
};

struct Warp {
  unsigned arrived = 0, alive = 0;
  std::array<std::array<::simulator::u64, 32>, 2> slots;
};

/// The threads of the block that runs, each on a stack of its own that later blocks use again.
class Block {
 public:
  void run(Machine& machine, Kernel kernel, void** parameters, bool backwards);

 private:
  static void enter();
  static void sync_threads();
  static ::simulator::u64 const* exchange(unsigned mask, ::simulator::u64 mine);

  void add_thread();
  void switch_to(unsigned thread);
  void wait(Wait for_what);
  void release(unsigned warp, unsigned lanes);
  void release_full_exchange(unsigned warp, unsigned mask);
  bool run_warp(unsigned warp);
  [[noreturn]] void report_deadlock() const;

  Machine* machine_ = nullptr;
  Kernel kernel_ = nullptr;
  void** parameters_ = nullptr;
  unsigned current_ = 0;
  unsigned count_ = 0;
  jmp_buf scheduler_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Warp> warps_;
};

Block& the_block() {
  static Block& block = *new Block;
  return block;
}

void Block::enter() {
  Block& b = the_block();
  for (;;) {
    b.kernel_(b.parameters_);
    b.wait(Wait::done);
  }
}

void Block::add_thread() {
  threads_.push_back(std::make_unique<Thread>());
  void* stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) std::abort();
  mprotect(stack, 4096, PROT_NONE);
  ucontext_t context, here;
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = stack_bytes;
  // A context starts a thread once; from then on jumps, which need no system call, lead back to its place.
  makecontext(
      &context,
      +[] {
        Block& b = the_block();
        if (_setjmp(b.threads_.back()->place) == 0) _longjmp(b.scheduler_, 1);
        enter();
      },
      0);
  if (_setjmp(scheduler_) == 0) swapcontext(&here, &context);
}

void Block::switch_to(unsigned thread) {
  current_ = thread;
  Machine& m = *machine_;
  m.thread = {thread % m.block_size.x, thread / m.block_size.x % m.block_size.y,
              thread / m.block_size.x / m.block_size.y};
  m.lane = thread % 32;
  if (_setjmp(scheduler_) == 0) _longjmp(threads_[thread]->place, 1);
}

void Block::wait(Wait for_what) {
  Thread& t = *threads_[current_];
  t.wait = for_what;
  if (_setjmp(t.place) == 0) _longjmp(scheduler_, 1);
}

void Block::release(unsigned warp, unsigned lanes) {
  warps_[warp].arrived &= ~lanes;
  for (; lanes; lanes &= lanes - 1)
    threads_[warp * 32 + static_cast<unsigned>(std::countr_zero(lanes))]->wait = Wait::nothing;
}

void Block::release_full_exchange(unsigned warp, unsigned mask) {
  unsigned const needed = mask & warps_[warp].alive;
  if ((warps_[warp].arrived & needed) == needed) release(warp, needed);
}

void Block::sync_threads() { the_block().wait(Wait::block); }

::simulator::u64 const* Block::exchange(unsigned mask, ::simulator::u64 mine) {
  Block& b = the_block();
  Thread& t = *b.threads_[b.current_];
  unsigned const warp = b.current_ / 32, lane = b.current_ % 32;
  Warp& w = b.warps_[warp];
  auto& slots = w.slots[t.turn];
  t.turn ^= 1;
  t.mask = mask;
  slots[lane] = mine;
  w.arrived |= 1u << lane;
  unsigned const needed = mask & w.alive;
  if ((w.arrived & needed) == needed)
    b.release(warp, needed);
  else
    b.wait(Wait::warp);
  return slots.data();
}

bool Block::run_warp(unsigned warp) {
  bool any = false;
  for (bool moved = true; moved; any = any || moved) {
    moved = false;
    for (unsigned i = warp * 32; i < std::min(count_, warp * 32 + 32); ++i) {
      if (threads_[i]->wait != Wait::nothing) continue;
      switch_to(i);
      moved = true;
      if (threads_[i]->wait != Wait::done) continue;
      Warp& w = warps_[warp];
      w.alive &= ~(1u << i % 32);
      for (unsigned waiting = w.arrived; waiting; waiting &= waiting - 1)
        release_full_exchange(warp, threads_[warp * 32 + static_cast<unsigned>(std::countr_zero(waiting))]->mask);
    }
  }
  return any;
}

void Block::report_deadlock() const {
  std::fprintf(stderr, "simulator: the threads of block (%u, %u, %u) wait for each other:\n", machine_->block.x,
               machine_->block.y, machine_->block.z);
  for (unsigned i = 0; i < count_; ++i)
    if (threads_[i]->wait != Wait::done)
      std::fprintf(stderr, "  thread %u at %s\n", i, threads_[i]->wait == Wait::block ? "the barrier" : "an exchange");
  std::abort();
}

void Block::run(Machine& machine, Kernel kernel, void** parameters, bool backwards) {
  machine.sync_threads = sync_threads;
  machine.exchange = exchange;
  machine_ = &machine;
  kernel_ = kernel;
  parameters_ = parameters;
  count_ = machine.block_size.x * machine.block_size.y * machine.block_size.z;
  while (threads_.size() < count_) add_thread();
  unsigned const warps = (count_ + 31) / 32;
  warps_.assign(warps, Warp{});
  for (unsigned i = 0; i < count_; ++i) {
    threads_[i]->wait = Wait::nothing;
    warps_[i / 32].alive |= 1u << i % 32;
  }
  for (;;) {
    bool moved = false;
    for (unsigned w = 0; w < warps; ++w) moved = run_warp(backwards ? warps - 1 - w : w) || moved;
    unsigned live = 0, at_barrier = 0;
    for (unsigned i = 0; i < count_; ++i) {
      live += threads_[i]->wait != Wait::done;
      at_barrier += threads_[i]->wait == Wait::block;
    }
    if (live == 0) return;
    if (at_barrier == live) {
      for (unsigned i = 0; i < count_; ++i)
        if (threads_[i]->wait == Wait::block) threads_[i]->wait = Wait::nothing;
    } else if (!moved) {
      report_deadlock();
    }
  }
}

}  // namespace

void launch(Library const& library, Kernel kernel, unsigned const (&grid)[3], unsigned const (&block)[3],
            void** parameters) {
  static std::mutex one_kernel_at_a_time;
  std::lock_guard const lock(one_kernel_at_a_time);
  Machine& machine = *static_cast<Machine*>(library.symbol("simulator_machine"));
  machine.grid_size = {grid[0], grid[1], grid[2]};
  machine.block_size = {block[0], block[1], block[2]};
  for (unsigned z = 0; z < grid[2]; ++z)
    for (unsigned y = 0; y < grid[1]; ++y)
      for (unsigned x = 0; x < grid[0]; ++x) {
        machine.block = {x, y, z};
        the_block().run(machine, kernel, parameters, (x + y + z) % 2);
      }
}

}  // namespace fusednn::simulator
