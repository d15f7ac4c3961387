// What the kernels need of their compiler: NVRTC or nvcc for a GPU, or g++ (-DHOST) for tests on a processor.
//
// No header of CUDA is included, so NVRTC needs nothing but these files. Sums and products that must come out the same on
// every compiler go through add_rn, mul_rn and fma_rn, which no compiler may merge or split; the host build needs
// -ffp-contract=off for the rest.
#ifndef PORTABLE_CUH
#define PORTABLE_CUH

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

// A number of 16 bits, IEEE 754 binary16, as its bits.
struct half_bits {
  u16 bits;
};

#ifdef HOST

#include <math.h>
#include <string.h>

struct HostIndex {
  unsigned x, y, z;
};
static thread_local HostIndex blockIdx, blockDim, threadIdx;

#define KERNEL extern "C" void
#define UNROLL_8
#define UNROLL_ALL
#define DEVICE static inline
#define METHOD static inline
#define MEMBER inline

DEVICE float add_rn(float a, float b) { return a + b; }
DEVICE float mul_rn(float a, float b) { return a * b; }
DEVICE float fma_rn(float a, float b, float c) { return fmaf(a, b, c); }
DEVICE int round_to_int(float value) { return (int)rintf(value); }
DEVICE u32 bits_of(float value) {
  u32 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
DEVICE half_bits to_half(float value) {
  _Float16 narrow = (_Float16)value;
  half_bits half;
  memcpy(&half, &narrow, sizeof half);
  return half;
}
DEVICE float from_half(half_bits half) {
  _Float16 narrow;
  memcpy(&narrow, &half, sizeof narrow);
  return (float)narrow;
}
DEVICE u32 shifted(u32 low, u32 high, u32 bits) { return (u32)((((u64)high << 32) | low) >> bits); }
DEVICE float exp_of(float value) { return expf(value); }
DEVICE float log_of(float value) { return logf(value); }
DEVICE u32 count_up(u32 *counter) { return (*counter)++; }
DEVICE void or_into(u32 *word, u32 bits) { *word |= bits; }
DEVICE void max_into(u32 *word, u32 value) {
  if (value > *word) *word = value;
}

#else

#define KERNEL extern "C" __global__ void
#define UNROLL_8 _Pragma("unroll 8")
#define UNROLL_ALL _Pragma("unroll")
#define DEVICE __device__ __forceinline__
#define METHOD static __device__ __forceinline__
#define MEMBER __device__ __forceinline__

DEVICE float add_rn(float a, float b) { return __fadd_rn(a, b); }
DEVICE float mul_rn(float a, float b) { return __fmul_rn(a, b); }
DEVICE float fma_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
DEVICE int round_to_int(float value) { return __float2int_rn(value); }
DEVICE u32 bits_of(float value) { return __float_as_uint(value); }
DEVICE half_bits to_half(float value) {
  half_bits half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half.bits) : "f"(value));
  return half;
}
DEVICE float from_half(half_bits half) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half.bits));
  return value;
}
DEVICE u32 shifted(u32 low, u32 high, u32 bits) { return __funnelshift_r(low, high, bits); }
DEVICE float exp_of(float value) { return expf(value); }
DEVICE float log_of(float value) { return logf(value); }
DEVICE u32 count_up(u32 *counter) { return atomicAdd(counter, 1u); }
DEVICE void or_into(u32 *word, u32 bits) { atomicOr(word, bits); }
DEVICE void max_into(u32 *word, u32 value) { atomicMax(word, value); }

#endif

// Without its sign bit, so that of two of them the larger has the larger bits: minus zero becomes zero.
DEVICE float absolute(float value) { return fabsf(value); }
DEVICE int least(int a, int b) { return a < b ? a : b; }
DEVICE int most(int a, int b) { return a > b ? a : b; }
DEVICE int within(int value, int low, int high) { return most(low, least(value, high)); }

#endif
