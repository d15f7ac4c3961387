// One pixel of a camera's frame as blue, green and red, whole numbers from 0 to 255, for each format that cameras give.
//
// What each format means stands in app/bgr.py, and these are its numbers to the last bit: OpenCV's, in its own whole
// numbers, so that whoever resizes them next starts from the same bytes as on the processor. NV12 and YUYV are BT.601 in
// video range, with the chroma of the pixel's own pair; a Bayer pixel lacks two colours and takes the mean of the nearest
// two or four that have them, halves rounded up, the outermost pixels as their inner neighbours do.
#ifndef PIXELS_CUH
#define PIXELS_CUH

#include "portable.cuh"
#include "words.cuh"

// A frame in memory; pitches are bytes from one row to the next.
struct Frame {
  const u8 *rows;
  const u8 *chroma;  // NV12: the interleaved U and V rows, half as many
  int pitch, chroma_pitch;
  int width, height;
  int pattern;  // Bayer: see there
};

struct Colour {
  float blue, green, red;
};

DEVICE Colour colour_of(float blue, float green, float red) {
  Colour colour = {blue, green, red};
  return colour;
}

// Each format gives one pixel (`at`), or four beside one another (`four`) with fewer loads; of those, the ones past the
// picture's right edge are some colour or other.
struct Four {
  Colour at[4];
};

DEVICE const u8 *last_byte(const u8 *rows, int count, int pitch, int row_bytes) {
  return rows + (i64)(count - 1) * pitch + row_bytes - 1;
}

struct Bgr8 {
  METHOD Colour at(const Frame &frame, int x, int y) {
    const u8 *pixel = frame.rows + (i64)y * frame.pitch + 3 * x;
    return colour_of((float)pixel[0], (float)pixel[1], (float)pixel[2]);
  }
  METHOD Four four(const Frame &frame, int x, int y) {
    const u8 *last = last_byte(frame.rows, frame.height, frame.pitch, 3 * frame.width);
    Words<3> words = Words<3>::from(frame.rows + (i64)y * frame.pitch + 3 * x, last);
    Four four;
    UNROLL_ALL for (int index = 0; index < 4; index++) four.at[index] =
        colour_of((float)words.byte(3 * index), (float)words.byte(3 * index + 1), (float)words.byte(3 * index + 2));
    return four;
  }
};

struct Gray8 {
  METHOD Colour at(const Frame &frame, int x, int y) {
    float level = (float)frame.rows[(i64)y * frame.pitch + x];
    return colour_of(level, level, level);
  }
  METHOD Four four(const Frame &frame, int x, int y) {
    const u8 *last = last_byte(frame.rows, frame.height, frame.pitch, frame.width);
    Words<1> words = Words<1>::from(frame.rows + (i64)y * frame.pitch + x, last);
    Four four;
    UNROLL_ALL for (int index = 0; index < 4; index++) {
      float level = (float)words.byte(index);
      four.at[index] = colour_of(level, level, level);
    }
    return four;
  }
};

DEVICE float byte_of(int level) { return (float)within(level, 0, 255); }

// Factors of 2^20, as OpenCV has them; the largest sum is 0.6 * 2^30.
DEVICE Colour from_yuv(int luma, int blueness, int redness) {
  int y = most(luma - 16, 0) * 1220542 + (1 << 19), u = blueness - 128, v = redness - 128;
  return colour_of(byte_of((y + 2116026 * u) >> 20), byte_of((y - 852492 * v - 409993 * u) >> 20),
                   byte_of((y + 1673527 * v) >> 20));
}

// All three channels the grey of a pixel. OpenCV's factors of 2^15: the sum stays below 2^23, so floats hold it exactly.
DEVICE Colour grey_of(const Colour &colour) {
  float sum = fma_rn(3735.0f, colour.blue, fma_rn(19235.0f, colour.green, fma_rn(9798.0f, colour.red, 16384.0f)));
  float grey = floorf(mul_rn(sum, 1.0f / 32768.0f));
  return colour_of(grey, grey, grey);
}

struct Nv12 {
  METHOD Colour at(const Frame &frame, int x, int y) {
    const u8 *pair = frame.chroma + (i64)(y >> 1) * frame.chroma_pitch + (x & ~1);
    return from_yuv(frame.rows[(i64)y * frame.pitch + x], pair[0], pair[1]);
  }
  METHOD Four four(const Frame &frame, int x, int y) {
    const u8 *last = last_byte(frame.rows, frame.height, frame.pitch, frame.width);
    const u8 *last_chroma = last_byte(frame.chroma, frame.height / 2, frame.chroma_pitch, frame.width);
    Words<1> luma = Words<1>::from(frame.rows + (i64)y * frame.pitch + x, last);
    Words<2> pairs = Words<2>::from(frame.chroma + (i64)(y >> 1) * frame.chroma_pitch + (x & ~1), last_chroma);
    Four four;
    UNROLL_ALL for (int index = 0; index < 4; index++) {
      int even = index & ~1, odd = (index + 1) & ~1;  // where the pair lies if x is even, and if it is odd
      four.at[index] = from_yuv(luma.byte(index), x & 1 ? pairs.byte(odd) : pairs.byte(even),
                                x & 1 ? pairs.byte(odd + 1) : pairs.byte(even + 1));
    }
    return four;
  }
};

struct Yuyv {
  METHOD Colour at(const Frame &frame, int x, int y) {
    const u8 *pair = frame.rows + (i64)y * frame.pitch + 4 * (x >> 1);
    return from_yuv(pair[2 * (x & 1)], pair[1], pair[3]);
  }
  METHOD Four four(const Frame &frame, int x, int y) {
    const u8 *last = last_byte(frame.rows, frame.height, frame.pitch, 2 * frame.width);
    Words<3> pairs = Words<3>::from(frame.rows + (i64)y * frame.pitch + 4 * (x >> 1), last);
    Four four;
    UNROLL_ALL for (int index = 0; index < 4; index++) {
      int even = 4 * (index / 2), odd = 4 * ((index + 1) / 2);
      four.at[index] = from_yuv(x & 1 ? pairs.byte(2 * index + 2) : pairs.byte(2 * index),
                                x & 1 ? pairs.byte(odd + 1) : pairs.byte(even + 1),
                                x & 1 ? pairs.byte(odd + 3) : pairs.byte(even + 3));
    }
    return four;
  }
};

// `pattern` says where red lies in each square of four: bit 0 set: in the odd columns, bit 1 set: in the odd rows.
// RGGB 0, GRBG 1, GBRG 2, BGGR 3 (the colours of the first row, then of the second).
struct Six {
  int level[6];
};

template <typename Level>
struct Bayer {
  METHOD Colour at(const Frame &frame, int x, int y) {
    x = within(x, 1, frame.width - 2);
    y = within(y, 1, frame.height - 2);
    int levels[3][3];
    for (int row = 0; row < 3; row++)
      for (int column = 0; column < 3; column++) levels[row][column] = Level::at(frame, x + column - 1, y + row - 1);
    return of_nine(frame, x, y, levels[0], levels[1], levels[2]);
  }
  METHOD Four four(const Frame &frame, int x, int y) {
    Four four;
    if (x < 1 || x + 3 > frame.width - 2) {
      for (int index = 0; index < 4; index++) four.at[index] = at(frame, x + index, y);
      return four;
    }
    y = within(y, 1, frame.height - 2);
    Six above = Level::six(frame, x - 1, y - 1), here = Level::six(frame, x - 1, y),
        below = Level::six(frame, x - 1, y + 1);
    UNROLL_ALL for (int index = 0; index < 4; index++) four.at[index] =
        of_nine(frame, x + index, y, above.level + index, here.level + index, below.level + index);
    return four;
  }
  // From the three rows of three levels around a pixel.
  METHOD Colour of_nine(const Frame &frame, int x, int y, const int *upper, const int *middle, const int *lower) {
    int across = middle[0] + middle[2], along = upper[1] + lower[1], here = middle[1];
    bool red_column = ((x ^ frame.pattern) & 1) == 0;
    bool red_row = ((y ^ (frame.pattern >> 1)) & 1) == 0;
    if (red_column != red_row) {  // a green pixel: red beside it in a row of reds, above it in a row of blues
      int beside = (across + 1) >> 1, above = (along + 1) >> 1;
      return of_levels(red_row ? above : beside, here, red_row ? beside : above);
    }
    int other = (upper[0] + upper[2] + lower[0] + lower[2] + 2) >> 2;
    return of_levels(red_row ? other : here, (across + along + 2) >> 2, red_row ? here : other);
  }
  METHOD Colour of_levels(int blue, int green, int red) {
    return colour_of(Level::byte(blue), Level::byte(green), Level::byte(red));
  }
};

struct Level8 {
  METHOD int at(const Frame &frame, int x, int y) { return frame.rows[(i64)y * frame.pitch + x]; }
  METHOD Six six(const Frame &frame, int x, int y) {
    const u8 *first = frame.rows + (i64)y * frame.pitch + x;
    Words<2> words = Words<2>::from(first, first + 5);
    Six six;
    UNROLL_ALL for (int index = 0; index < 6; index++) six.level[index] = words.byte(index);
    return six;
  }
  METHOD float byte(int level) { return (float)level; }
};

// Sixteen bits in the machine's own order, of which the lowest twelve are in use: 4095 is white, and so is more.
struct Level12 {
  METHOD int at(const Frame &frame, int x, int y) {
    return ((const u16 *)(frame.rows + (i64)y * frame.pitch))[x];
  }
  METHOD Six six(const Frame &frame, int x, int y) {
    const u8 *first = frame.rows + (i64)y * frame.pitch + 2 * x;
    Words<3> words = Words<3>::from(first, first + 11);
    Six six;
    UNROLL_ALL for (int index = 0; index < 6; index++) six.level[index] = words.pair(index);
    return six;
  }
  METHOD float byte(int level) { return (float)least(round_to_int(mul_rn((float)level, 255.0f / 4095.0f)), 255); }
};

#endif
