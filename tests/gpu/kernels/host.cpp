// Every kernel on the processor: the grid is walked in a loop, one thread after another.
//
// For each entry point NAME: emu_NAME(grid, block, arguments), with a pointer to each argument as cuLaunchKernel takes
// them, and emu_NAME_sig, the arguments' sizes in bytes, a zero at the end.
#include "decode.cuh"
#include "letterbox.cuh"

template <typename Kernel>
static void walk(const unsigned *grid, const unsigned *block, Kernel kernel) {
  blockDim = {block[0], block[1], block[2]};
  for (blockIdx.z = 0; blockIdx.z < grid[2]; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid[1]; blockIdx.y++)
      for (blockIdx.x = 0; blockIdx.x < grid[0]; blockIdx.x++)
        for (threadIdx.z = 0; threadIdx.z < block[2]; threadIdx.z++)
          for (threadIdx.y = 0; threadIdx.y < block[1]; threadIdx.y++)
            for (threadIdx.x = 0; threadIdx.x < block[0]; threadIdx.x++) kernel();
}

template <typename Type>
static Type argument(void **arguments, int index) {
  return *(Type *)arguments[index];
}

#define POINTERS_3(NAME, FIRST, SECOND, THIRD)                                                     \
  extern "C" {                                                                                     \
  extern const unsigned char emu_##NAME##_sig[] = {8, 8, 8, 0};                                    \
  void emu_##NAME(const unsigned *grid, const unsigned *block, void **arguments) {                 \
    FIRST first = argument<FIRST>(arguments, 0);                                                   \
    SECOND second = argument<SECOND>(arguments, 1);                                                \
    THIRD third = argument<THIRD>(arguments, 2);                                                   \
    walk(grid, block, [&] { NAME(first, second, third); });                                        \
  }                                                                                                \
  }

#define LETTERBOX_HOST(FORMAT)                                                                    \
  POINTERS_3(letterbox_##FORMAT##_float32, const u8 *, float *, const LetterboxJob *)             \
  POINTERS_3(letterbox_##FORMAT##_float16, const u8 *, half_bits *, const LetterboxJob *)         \
  POINTERS_3(letterbox_##FORMAT##_uint8, const u8 *, u8 *, const LetterboxJob *)

LETTERBOX_HOST(bgr8)
LETTERBOX_HOST(gray8)
LETTERBOX_HOST(nv12)
LETTERBOX_HOST(yuyv)
LETTERBOX_HOST(bayer8)
LETTERBOX_HOST(bayer12)

#define POINTERS_2(NAME, FIRST, SECOND)                                            \
  extern "C" {                                                                     \
  extern const unsigned char emu_##NAME##_sig[] = {8, 8, 0};                       \
  void emu_##NAME(const unsigned *grid, const unsigned *block, void **arguments) { \
    FIRST first = argument<FIRST>(arguments, 0);                                   \
    SECOND second = argument<SECOND>(arguments, 1);                                \
    walk(grid, block, [&] { NAME(first, second); });                               \
  }                                                                                \
  }
#define POINTERS_4(NAME, FIRST, SECOND, THIRD, FOURTH)                             \
  extern "C" {                                                                     \
  extern const unsigned char emu_##NAME##_sig[] = {8, 8, 8, 8, 0};                 \
  void emu_##NAME(const unsigned *grid, const unsigned *block, void **arguments) { \
    FIRST first = argument<FIRST>(arguments, 0);                                   \
    SECOND second = argument<SECOND>(arguments, 1);                                \
    THIRD third = argument<THIRD>(arguments, 2);                                   \
    FOURTH fourth = argument<FOURTH>(arguments, 3);                                \
    walk(grid, block, [&] { NAME(first, second, third, fourth); });                \
  }                                                                                \
  }

#define DECODE_HOST(KIND)                                                                                     \
  POINTERS_4(decode_##KIND##_float32, const float *, const float *, u8 *, const DecodeJob *)                 \
  POINTERS_4(decode_##KIND##_float16, const half_bits *, const half_bits *, u8 *, const DecodeJob *)

POINTERS_2(decode_reset, u8 *, const DecodeJob *)
DECODE_HOST(scores)
DECODE_HOST(objectness)
DECODE_HOST(yolox)
DECODE_HOST(finished)
