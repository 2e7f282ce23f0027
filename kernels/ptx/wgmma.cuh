#pragma once

#include "ptx/base.cuh"

// wgmma: a warpgroup multiplies a 64-row slab of A by N columns of B, both in shared memory, into registers.

namespace fusednn::ptx {

// Before the first wgmma of a batch, and after other instructions touched its registers.
FUSEDNN_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
FUSEDNN_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until at most kPending committed batches of this warpgroup are unfinished.
template <int kPending>
FUSEDNN_DEVICE void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving uses of an accumulator across a wait that it does not know to be about it.
FUSEDNN_DEVICE void pin_register(float& x) { asm volatile("" : "+f"(x)::"memory"); }

// Wgmma<T, N>::multiply(d, a, b, accumulate): d (64 x N) = A (64 x k) B (k x N) [+ d], k = 32 bytes of T. a and b are
// matrix descriptors; the flags tell that an operand lies with its M or N dimension contiguous.
template <class T, int kColumns>
struct Wgmma;

// Registers in groups of 4, which are 8 columns: NAMES_n spells the first n groups in the instruction's text, BINDS_n
// binds them.
#define FUSEDNN_BIND(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define FUSEDNN_NAMES_1 "%0, %1, %2, %3"
#define FUSEDNN_NAMES_2 FUSEDNN_NAMES_1 ", %4, %5, %6, %7"
#define FUSEDNN_NAMES_3 FUSEDNN_NAMES_2 ", %8, %9, %10, %11"
#define FUSEDNN_NAMES_4 FUSEDNN_NAMES_3 ", %12, %13, %14, %15"
#define FUSEDNN_NAMES_5 FUSEDNN_NAMES_4 ", %16, %17, %18, %19"
#define FUSEDNN_NAMES_6 FUSEDNN_NAMES_5 ", %20, %21, %22, %23"
#define FUSEDNN_NAMES_7 FUSEDNN_NAMES_6 ", %24, %25, %26, %27"
#define FUSEDNN_NAMES_8 FUSEDNN_NAMES_7 ", %28, %29, %30, %31"
#define FUSEDNN_NAMES_9 FUSEDNN_NAMES_8 ", %32, %33, %34, %35"
#define FUSEDNN_NAMES_10 FUSEDNN_NAMES_9 ", %36, %37, %38, %39"
#define FUSEDNN_NAMES_11 FUSEDNN_NAMES_10 ", %40, %41, %42, %43"
#define FUSEDNN_NAMES_12 FUSEDNN_NAMES_11 ", %44, %45, %46, %47"
#define FUSEDNN_NAMES_13 FUSEDNN_NAMES_12 ", %48, %49, %50, %51"
#define FUSEDNN_NAMES_14 FUSEDNN_NAMES_13 ", %52, %53, %54, %55"
#define FUSEDNN_NAMES_15 FUSEDNN_NAMES_14 ", %56, %57, %58, %59"
#define FUSEDNN_NAMES_16 FUSEDNN_NAMES_15 ", %60, %61, %62, %63"
#define FUSEDNN_NAMES_17 FUSEDNN_NAMES_16 ", %64, %65, %66, %67"
#define FUSEDNN_NAMES_18 FUSEDNN_NAMES_17 ", %68, %69, %70, %71"
#define FUSEDNN_NAMES_19 FUSEDNN_NAMES_18 ", %72, %73, %74, %75"
#define FUSEDNN_NAMES_20 FUSEDNN_NAMES_19 ", %76, %77, %78, %79"
#define FUSEDNN_NAMES_21 FUSEDNN_NAMES_20 ", %80, %81, %82, %83"
#define FUSEDNN_NAMES_22 FUSEDNN_NAMES_21 ", %84, %85, %86, %87"
#define FUSEDNN_NAMES_23 FUSEDNN_NAMES_22 ", %88, %89, %90, %91"
#define FUSEDNN_NAMES_24 FUSEDNN_NAMES_23 ", %92, %93, %94, %95"
#define FUSEDNN_NAMES_25 FUSEDNN_NAMES_24 ", %96, %97, %98, %99"
#define FUSEDNN_NAMES_26 FUSEDNN_NAMES_25 ", %100, %101, %102, %103"
#define FUSEDNN_NAMES_27 FUSEDNN_NAMES_26 ", %104, %105, %106, %107"
#define FUSEDNN_NAMES_28 FUSEDNN_NAMES_27 ", %108, %109, %110, %111"
#define FUSEDNN_NAMES_29 FUSEDNN_NAMES_28 ", %112, %113, %114, %115"
#define FUSEDNN_NAMES_30 FUSEDNN_NAMES_29 ", %116, %117, %118, %119"
#define FUSEDNN_NAMES_31 FUSEDNN_NAMES_30 ", %120, %121, %122, %123"
#define FUSEDNN_NAMES_32 FUSEDNN_NAMES_31 ", %124, %125, %126, %127"
#define FUSEDNN_BINDS_1(d) FUSEDNN_BIND(d, 0)
#define FUSEDNN_BINDS_2(d) FUSEDNN_BINDS_1(d), FUSEDNN_BIND(d, 4)
#define FUSEDNN_BINDS_3(d) FUSEDNN_BINDS_2(d), FUSEDNN_BIND(d, 8)
#define FUSEDNN_BINDS_4(d) FUSEDNN_BINDS_3(d), FUSEDNN_BIND(d, 12)
#define FUSEDNN_BINDS_5(d) FUSEDNN_BINDS_4(d), FUSEDNN_BIND(d, 16)
#define FUSEDNN_BINDS_6(d) FUSEDNN_BINDS_5(d), FUSEDNN_BIND(d, 20)
#define FUSEDNN_BINDS_7(d) FUSEDNN_BINDS_6(d), FUSEDNN_BIND(d, 24)
#define FUSEDNN_BINDS_8(d) FUSEDNN_BINDS_7(d), FUSEDNN_BIND(d, 28)
#define FUSEDNN_BINDS_9(d) FUSEDNN_BINDS_8(d), FUSEDNN_BIND(d, 32)
#define FUSEDNN_BINDS_10(d) FUSEDNN_BINDS_9(d), FUSEDNN_BIND(d, 36)
#define FUSEDNN_BINDS_11(d) FUSEDNN_BINDS_10(d), FUSEDNN_BIND(d, 40)
#define FUSEDNN_BINDS_12(d) FUSEDNN_BINDS_11(d), FUSEDNN_BIND(d, 44)
#define FUSEDNN_BINDS_13(d) FUSEDNN_BINDS_12(d), FUSEDNN_BIND(d, 48)
#define FUSEDNN_BINDS_14(d) FUSEDNN_BINDS_13(d), FUSEDNN_BIND(d, 52)
#define FUSEDNN_BINDS_15(d) FUSEDNN_BINDS_14(d), FUSEDNN_BIND(d, 56)
#define FUSEDNN_BINDS_16(d) FUSEDNN_BINDS_15(d), FUSEDNN_BIND(d, 60)
#define FUSEDNN_BINDS_17(d) FUSEDNN_BINDS_16(d), FUSEDNN_BIND(d, 64)
#define FUSEDNN_BINDS_18(d) FUSEDNN_BINDS_17(d), FUSEDNN_BIND(d, 68)
#define FUSEDNN_BINDS_19(d) FUSEDNN_BINDS_18(d), FUSEDNN_BIND(d, 72)
#define FUSEDNN_BINDS_20(d) FUSEDNN_BINDS_19(d), FUSEDNN_BIND(d, 76)
#define FUSEDNN_BINDS_21(d) FUSEDNN_BINDS_20(d), FUSEDNN_BIND(d, 80)
#define FUSEDNN_BINDS_22(d) FUSEDNN_BINDS_21(d), FUSEDNN_BIND(d, 84)
#define FUSEDNN_BINDS_23(d) FUSEDNN_BINDS_22(d), FUSEDNN_BIND(d, 88)
#define FUSEDNN_BINDS_24(d) FUSEDNN_BINDS_23(d), FUSEDNN_BIND(d, 92)
#define FUSEDNN_BINDS_25(d) FUSEDNN_BINDS_24(d), FUSEDNN_BIND(d, 96)
#define FUSEDNN_BINDS_26(d) FUSEDNN_BINDS_25(d), FUSEDNN_BIND(d, 100)
#define FUSEDNN_BINDS_27(d) FUSEDNN_BINDS_26(d), FUSEDNN_BIND(d, 104)
#define FUSEDNN_BINDS_28(d) FUSEDNN_BINDS_27(d), FUSEDNN_BIND(d, 108)
#define FUSEDNN_BINDS_29(d) FUSEDNN_BINDS_28(d), FUSEDNN_BIND(d, 112)
#define FUSEDNN_BINDS_30(d) FUSEDNN_BINDS_29(d), FUSEDNN_BIND(d, 116)
#define FUSEDNN_BINDS_31(d) FUSEDNN_BINDS_30(d), FUSEDNN_BIND(d, 120)
#define FUSEDNN_BINDS_32(d) FUSEDNN_BINDS_31(d), FUSEDNN_BIND(d, 124)

// a, b, s, ta, tb are the positions of the operands that follow the accumulators.
#define FUSEDNN_WGMMA(T, text, n, groups, a, b, s, ta, tb)                                            \
  template <>                                                                                         \
  struct Wgmma<T, n> {                                                                                \
    template <int kTransA, int kTransB>                                                               \
    FUSEDNN_DEVICE static void multiply(float (&d)[n / 2], u64 desc_a, u64 desc_b, int accumulate) {  \
      asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #s                                            \
                   ", 0;\n"                                                                           \
                   "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." text " {" FUSEDNN_NAMES_##groups \
                   "}, %" #a ", %" #b ", p, 1, 1, %" #ta ", %" #tb ";\n}"                             \
                   : FUSEDNN_BINDS_##groups(d)                                                        \
                   : "l"(desc_a), "l"(desc_b), "r"(accumulate), "n"(kTransA), "n"(kTransB));          \
    }                                                                                                 \
  };

#define FUSEDNN_WGMMA_16BIT(n, groups, a, b, s, ta, tb)        \
  FUSEDNN_WGMMA(bf16, "bf16.bf16", n, groups, a, b, s, ta, tb) \
  FUSEDNN_WGMMA(fp16, "f16.f16", n, groups, a, b, s, ta, tb)

FUSEDNN_WGMMA_16BIT(8, 1, 4, 5, 6, 7, 8)
FUSEDNN_WGMMA_16BIT(16, 2, 8, 9, 10, 11, 12)
FUSEDNN_WGMMA_16BIT(24, 3, 12, 13, 14, 15, 16)
FUSEDNN_WGMMA_16BIT(32, 4, 16, 17, 18, 19, 20)
FUSEDNN_WGMMA_16BIT(40, 5, 20, 21, 22, 23, 24)
FUSEDNN_WGMMA_16BIT(48, 6, 24, 25, 26, 27, 28)
FUSEDNN_WGMMA_16BIT(56, 7, 28, 29, 30, 31, 32)
FUSEDNN_WGMMA_16BIT(64, 8, 32, 33, 34, 35, 36)
FUSEDNN_WGMMA_16BIT(72, 9, 36, 37, 38, 39, 40)
FUSEDNN_WGMMA_16BIT(80, 10, 40, 41, 42, 43, 44)
FUSEDNN_WGMMA_16BIT(88, 11, 44, 45, 46, 47, 48)
FUSEDNN_WGMMA_16BIT(96, 12, 48, 49, 50, 51, 52)
FUSEDNN_WGMMA_16BIT(104, 13, 52, 53, 54, 55, 56)
FUSEDNN_WGMMA_16BIT(112, 14, 56, 57, 58, 59, 60)
FUSEDNN_WGMMA_16BIT(120, 15, 60, 61, 62, 63, 64)
FUSEDNN_WGMMA_16BIT(128, 16, 64, 65, 66, 67, 68)
FUSEDNN_WGMMA_16BIT(136, 17, 68, 69, 70, 71, 72)
FUSEDNN_WGMMA_16BIT(144, 18, 72, 73, 74, 75, 76)
FUSEDNN_WGMMA_16BIT(152, 19, 76, 77, 78, 79, 80)
FUSEDNN_WGMMA_16BIT(160, 20, 80, 81, 82, 83, 84)
FUSEDNN_WGMMA_16BIT(168, 21, 84, 85, 86, 87, 88)
FUSEDNN_WGMMA_16BIT(176, 22, 88, 89, 90, 91, 92)
FUSEDNN_WGMMA_16BIT(184, 23, 92, 93, 94, 95, 96)
FUSEDNN_WGMMA_16BIT(192, 24, 96, 97, 98, 99, 100)
FUSEDNN_WGMMA_16BIT(200, 25, 100, 101, 102, 103, 104)
FUSEDNN_WGMMA_16BIT(208, 26, 104, 105, 106, 107, 108)
FUSEDNN_WGMMA_16BIT(216, 27, 108, 109, 110, 111, 112)
FUSEDNN_WGMMA_16BIT(224, 28, 112, 113, 114, 115, 116)
FUSEDNN_WGMMA_16BIT(232, 29, 116, 117, 118, 119, 120)
FUSEDNN_WGMMA_16BIT(240, 30, 120, 121, 122, 123, 124)
FUSEDNN_WGMMA_16BIT(248, 31, 124, 125, 126, 127, 128)
FUSEDNN_WGMMA_16BIT(256, 32, 128, 129, 130, 131, 132)

#undef FUSEDNN_WGMMA_16BIT
#undef FUSEDNN_WGMMA
#undef FUSEDNN_BIND

}  // namespace fusednn::ptx
