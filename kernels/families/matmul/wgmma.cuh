#pragma once

#include "families/matmul/epilogue.cuh"
#include "tile/ring.cuh"
#include "tile/schedule.cuh"

// cuda.matmul.wgmma: D = epilogue(A B), A is M x K, B is K x N. A persistent grid; in each block one warp loads tiles
// by the copy engine into a ring of stages, the consumer warpgroups multiply from there and store.
//
// A kernel is this header and
//   struct Config { using Element, Output; static constexpr abi::WgmmaConfig kConfig; };
//   struct Epilogue { ... };  // families/matmul/epilogue.cuh
//   extern "C" __global__ __launch_bounds__(Config::kConfig.threads(), 1)
//   void kernel(const __grid_constant__ abi::MatmulParams params, const __grid_constant__ Epilogue epilogue) {
//     matmul::run<Config>(params, epilogue);
//   }
// launched with clusters of kConfig.cluster() blocks, kConfig.shared_bytes of dynamic shared memory, and at most as
// many clusters as there are tiles of a cluster and as fit on the device together.

namespace fusednn::matmul {

using abi::Major;

template <class Config>
struct Roles {
  static constexpr WgmmaConfig kC = Config::kConfig;
  static_assert(kC.valid(), "a configuration that the kernel cannot run");
  using Ring = tile::Ring<kC.stages, kC.cluster_m, kC.cluster_n>;
  using Place = tile::Place<kC.stages>;

  FUSEDNN_DEVICE static int ceil_div(int a, int b) { return (a + b - 1) / b; }

  // Tiles are dealt to whole clusters; a block finds its own within.
  FUSEDNN_DEVICE static tile::GroupedOrder order(const MatmulParams& p) {
    return {ceil_div(p.m, kC.tile_m * kC.cluster_m), ceil_div(p.n, kC.tile_n * kC.cluster_n), p.batch, p.group,
            p.group_n != 0};
  }
  FUSEDNN_DEVICE static tile::TileAt element_of(tile::TileAt t, u32 rank) {
    return {(t.m * kC.cluster_m + static_cast<int>(rank % kC.cluster_m)) * kC.tile_m,
            (t.n * kC.cluster_n + static_cast<int>(rank / kC.cluster_m)) * kC.tile_n, t.batch};
  }

  // Loads this block's part of an operand tile: all of it, or the share that it passes on to `blocks`.
  template <Major kMajor, int kExtent, int kSharers>
  FUSEDNN_DEVICE static void load(const abi::TensorMap& map, u32 to, u32 barrier, int mn, int k, int batch, u64 policy,
                                  u32 part, u16 blocks) {
    constexpr abi::Box kBox = abi::operand_box(kMajor, kExtent, kSharers);
    u32 share = to + part * (kBox.outer * WgmmaConfig::kRowBytes);
    int offset = part * kBox.outer;
    constexpr int kBoxes = kMajor == Major::K ? 1 : (kExtent + 63) / 64;
#pragma unroll
    for (int i = 0; i < kBoxes; ++i) {
      int x = kMajor == Major::K ? k : mn + 64 * i;
      int y = (kMajor == Major::K ? mn : k) + offset;
      u32 address = share + i * (64 * WgmmaConfig::kRowBytes);
      if constexpr (kSharers == 1) {
        ptx::tensor_load(address, &map, barrier, x, y, batch, policy);
      } else {
        ptx::tensor_load_multicast(address, &map, barrier, x, y, batch, policy, blocks);
      }
    }
  }

  FUSEDNN_DEVICE static void produce(const MatmulParams& p, const Ring& ring, u32 shared, u32 rank) {
    tile::GroupedOrder tiles = order(p);
    int count = tiles.count();
    u32 rank_m = rank % kC.cluster_m;
    u32 rank_n = rank / kC.cluster_m;
    u16 a_blocks = 0;
    u16 b_blocks = 0;
    for (int i = 0; i < kC.cluster_n; ++i) a_blocks |= 1 << (rank_m + i * kC.cluster_m);
    for (int i = 0; i < kC.cluster_m; ++i) b_blocks |= 1 << (i + rank_n * kC.cluster_m);
    Place at;
    for (int t = blockIdx.x / kC.cluster(); t < count; t += gridDim.x / kC.cluster()) {
      tile::TileAt e = element_of(tiles.at(t), rank);
      for (int k = 0; k < p.k; k += WgmmaConfig::kTileK) {
        u32 full = ring.begin_load(at, kC.stage_bytes());
        u32 a = shared + at.stage * kC.stage_bytes();
        load<kC.a, kC.tile_m, kC.cluster_n>(p.a, a, full, e.m, k, e.batch * p.a_batched, p.policy_a, rank_n, a_blocks);
        load<kC.b, kC.tile_n, kC.cluster_m>(p.b, a + kC.a_bytes(), full, e.n, k, e.batch * p.b_batched, p.policy_b,
                                            rank_m, b_blocks);
        at.advance();
      }
    }
  }

  template <class Epilogue>
  FUSEDNN_DEVICE static void consume(const MatmulParams& p, const Epilogue& epilogue, const Ring& ring, u32 shared,
                                     u32 rank, u32 consumer, u32 warp) {
    constexpr u32 kTurn = 4;  // named barriers, one for each consumer: its turn has come
    tile::GroupedOrder tiles = order(p);
    int count = tiles.count();
    int blocks = ceil_div(p.k, WgmmaConfig::kTileK);
    int stride = gridDim.x / kC.cluster();
    int first = blockIdx.x / kC.cluster();
    u32 share = 0;  // this warpgroup's first row in the tile
    Place at;
    if constexpr (kC.pingpong) {
      first += consumer * stride;
      at.advance(consumer * blocks);
    } else {
      share = consumer * kC.consumer_rows();
    }
    bool lagging = kC.lag > 0;
    if (kC.lag > 0 && consumer > 0 && first < count) ptx::named_wait(kTurn + consumer, 256);

    using Tail = Store<Config, Epilogue>;
    Tail tail(p, epilogue, shared, consumer, warp);
    typename Tail::Accumulator accumulator;
    for (int t = first; t < count; t += stride * (kC.pingpong ? kC.consumers : 1)) {
      tile::TileAt e = element_of(tiles.at(t), rank);
      e.m += share;
      tail.fetch(e.m, e.n, e.batch);
      // Main loops take turns in the order in which the stages are filled: a barrier's parity tells one pass from the
      // next, but not from the one after.
      if (kC.pingpong && t >= stride) ptx::named_wait(kTurn + consumer, 256);
      u32 previous = 0;
      for (int k = 0; k < blocks; ++k) {
        ring.wait_full(at);
        u32 a = shared + at.stage * kC.stage_bytes();
        ptx::wgmma_fence();
        accumulator.template add_product<kC.a, kC.b>(a + share * WgmmaConfig::kRowBytes, a + kC.a_bytes(), k > 0);
        ptx::wgmma_commit();
        ptx::wgmma_wait<1>();
        if (k > 0) ring.release(previous);
        previous = at.stage;
        at.advance();
        if constexpr (kC.lag > 0) {
          if (lagging && (k + 1 == kC.lag || k + 1 == blocks)) {
            if (consumer + 1 < kC.consumers) ptx::named_arrive(kTurn + consumer + 1, 256);
            lagging = false;
          }
        }
      }
      if (kC.pingpong && t + stride < count) ptx::named_arrive(kTurn + (consumer + 1) % kC.consumers, 256);
      ptx::wgmma_wait<0>();
      accumulator.pin();
      ring.release(previous);
      if constexpr (kC.pingpong) at.advance((kC.consumers - 1) * blocks);
      tail.store(accumulator);
    }
    tail.drain();
  }
};

template <class Config, class Epilogue>
FUSEDNN_DEVICE void run(const MatmulParams& params, const Epilogue& epilogue) {
  using R = Roles<Config>;
  constexpr WgmmaConfig kC = Config::kConfig;
  static_assert(kC.shared_bytes(Epilogue::kColumnOperands, Epilogue::kTileOperand) <= WgmmaConfig::kSharedLimit);
  u32 shared = ptx::dynamic_shared();
  u32 warp = ptx::warp();
  u32 rank = kC.cluster() > 1 ? ptx::cluster_rank() : 0;
  typename R::Ring ring{shared + kC.barriers_at(Epilogue::kColumnOperands), rank};
  if (threadIdx.x == 0) {
    ptx::prefetch_tensor_map(&params.a);
    ptx::prefetch_tensor_map(&params.b);
    if constexpr (Epilogue::kTileOperand) ptx::prefetch_tensor_map(&params.c);
    ptx::prefetch_tensor_map(&params.d);
    ring.init(4 * (kC.pingpong ? 1 : kC.consumers));
    Store<Config, Epilogue>::init_barriers(shared);
    ptx::fence_barrier_init();
  }
  if constexpr (kC.cluster() > 1) {
    ptx::cluster_sync();
  } else {
    __syncthreads();
  }
  ptx::let_successor_start();
  ptx::wait_for_predecessor();

  if (warp < 4) {
    if constexpr (kC.loader_registers() > 0) ptx::release_registers<kC.loader_registers()>();
    if (warp == 0) {
      if (ptx::elect()) R::produce(params, ring, shared, rank);
      __syncwarp();  // the cluster's barrier blocks whole warps, the loading lane with the others
    }
  } else {
    if constexpr (kC.consumer_registers() > 0) ptx::claim_registers<kC.consumer_registers()>();
    R::consume(params, epilogue, ring, shared, rank, warp / 4 - 1, warp % 4);
  }
  // No block may end while another still arrives at its barriers or writes its stages.
  if constexpr (kC.cluster() > 1) ptx::cluster_sync();
}

}  // namespace fusednn::matmul
