// One pixel of a camera's frame as blue, green and red, 0 to 255, for each format that cameras give.
//
// What each format means stands in app/preprocess/exact.py, and these are its numbers: not rounded to whole ones on the
// way. NV12 and YUYV are BT.601 in video range, with the chroma of the pixel's own pair; a Bayer pixel lacks two colours
// and takes the mean of the nearest two or four that have them, the outermost pixels as their inner neighbours do.
#ifndef PIXELS_CUH
#define PIXELS_CUH

#include "portable.cuh"

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

struct Bgr8 {
  METHOD Colour at(const Frame &frame, int x, int y) {
    const u8 *pixel = frame.rows + (i64)y * frame.pitch + 3 * x;
    return colour_of((float)pixel[0], (float)pixel[1], (float)pixel[2]);
  }
};

struct Gray8 {
  METHOD Colour at(const Frame &frame, int x, int y) {
    float level = (float)frame.rows[(i64)y * frame.pitch + x];
    return colour_of(level, level, level);
  }
};

DEVICE float bright(float level) { return level < 0.0f ? 0.0f : level > 255.0f ? 255.0f : level; }

DEVICE Colour from_yuv(u8 luma, u8 blueness, u8 redness) {
  float y = mul_rn(1.164383f, (float)most(luma - 16, 0)), u = (float)(blueness - 128), v = (float)(redness - 128);
  return colour_of(bright(fma_rn(2.017232f, u, y)), bright(fma_rn(-0.391762f, u, fma_rn(-0.812968f, v, y))),
                   bright(fma_rn(1.596027f, v, y)));
}

struct Nv12 {
  METHOD Colour at(const Frame &frame, int x, int y) {
    const u8 *pair = frame.chroma + (i64)(y >> 1) * frame.chroma_pitch + (x & ~1);
    return from_yuv(frame.rows[(i64)y * frame.pitch + x], pair[0], pair[1]);
  }
};

struct Yuyv {
  METHOD Colour at(const Frame &frame, int x, int y) {
    const u8 *pair = frame.rows + (i64)y * frame.pitch + 4 * (x >> 1);
    return from_yuv(pair[2 * (x & 1)], pair[1], pair[3]);
  }
};

// `pattern` says where red lies in each square of four: bit 0 set: in the odd columns, bit 1 set: in the odd rows.
// RGGB 0, GRBG 1, GBRG 2, BGGR 3 (the colours of the first row, then of the second).
template <typename Level>
struct Bayer {
  METHOD Colour at(const Frame &frame, int x, int y) {
    x = within(x, 1, frame.width - 2);
    y = within(y, 1, frame.height - 2);
    float across = (float)(Level::at(frame, x - 1, y) + Level::at(frame, x + 1, y));
    float along = (float)(Level::at(frame, x, y - 1) + Level::at(frame, x, y + 1));
    float here = (float)Level::at(frame, x, y);
    bool red_column = ((x ^ frame.pattern) & 1) == 0;
    bool red_row = ((y ^ (frame.pattern >> 1)) & 1) == 0;
    if (red_column != red_row) {  // a green pixel: red beside it in a row of reds, above it in a row of blues
      float beside = 0.5f * across, above = 0.5f * along;
      return Level::bytes(red_row ? above : beside, here, red_row ? beside : above);
    }
    float other = 0.25f * (float)(Level::at(frame, x - 1, y - 1) + Level::at(frame, x + 1, y - 1) +
                                  Level::at(frame, x - 1, y + 1) + Level::at(frame, x + 1, y + 1));
    return Level::bytes(red_row ? other : here, 0.25f * (across + along), red_row ? here : other);
  }
};

struct Level8 {
  METHOD int at(const Frame &frame, int x, int y) { return frame.rows[(i64)y * frame.pitch + x]; }
  METHOD Colour bytes(float blue, float green, float red) { return colour_of(blue, green, red); }
};

// Sixteen bits in the machine's own order, of which the lowest twelve are in use: 4095 is white, and so is more.
struct Level12 {
  METHOD int at(const Frame &frame, int x, int y) {
    return ((const u16 *)(frame.rows + (i64)y * frame.pitch))[x];
  }
  METHOD float byte(float level) { return bright(mul_rn(level, 255.0f / 4095.0f)); }
  METHOD Colour bytes(float blue, float green, float red) { return colour_of(byte(blue), byte(green), byte(red)); }
};

#endif
