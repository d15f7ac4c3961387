// One pixel of a camera's frame as blue, green and red, 0 to 255, for each format that cameras give.
//
// Every format answers with the whole numbers that OpenCV's conversion gives, so that a picture read here equals one that
// the processor converted first: NV12 and YUYV as BT.601 limited range with the chroma of the pixel's own pair
// (COLOR_YUV2BGR_NV12, COLOR_YUV2BGR_YUY2), Bayer by the means of the nearest two or four (COLOR_Bayer..2BGR), the
// outermost pixels as their inner neighbours.
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
  int blue, green, red;
};

DEVICE Colour grey_of(int level) {
  Colour colour = {level, level, level};
  return colour;
}

struct Bgr8 {
  METHOD Colour at(const Frame &frame, int x, int y) {
    const u8 *pixel = frame.rows + (i64)y * frame.pitch + 3 * x;
    Colour colour = {pixel[0], pixel[1], pixel[2]};
    return colour;
  }
};

struct Gray8 {
  METHOD Colour at(const Frame &frame, int x, int y) { return grey_of(frame.rows[(i64)y * frame.pitch + x]); }
};

// BT.601 limited range in fixed point of 20 bits, rounded as OpenCV rounds.
DEVICE Colour from_yuv(int luma, int u, int v) {
  const int half = 1 << 19;
  int y = most(luma - 16, 0) * 1220542;
  u -= 128;
  v -= 128;
  Colour colour = {
      within((y + 2116026 * u + half) >> 20, 0, 255),
      within((y - 409993 * u - 852492 * v + half) >> 20, 0, 255),
      within((y + 1673527 * v + half) >> 20, 0, 255),
  };
  return colour;
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
    int across = Level::at(frame, x - 1, y) + Level::at(frame, x + 1, y);
    int along = Level::at(frame, x, y - 1) + Level::at(frame, x, y + 1);
    int here = Level::at(frame, x, y);
    bool red_column = ((x ^ frame.pattern) & 1) == 0;
    bool red_row = ((y ^ (frame.pattern >> 1)) & 1) == 0;
    if (red_column != red_row) {  // a green pixel: red beside it in a row of reds, above it in a row of blues
      int beside = (across + 1) >> 1, above = (along + 1) >> 1;
      return Level::bytes(red_row ? above : beside, here, red_row ? beside : above);
    }
    int corners = Level::at(frame, x - 1, y - 1) + Level::at(frame, x + 1, y - 1) + Level::at(frame, x - 1, y + 1) +
                  Level::at(frame, x + 1, y + 1);
    int other = (corners + 2) >> 2;
    return Level::bytes(red_row ? other : here, (across + along + 2) >> 2, red_row ? here : other);
  }
};

struct Level8 {
  METHOD int at(const Frame &frame, int x, int y) { return frame.rows[(i64)y * frame.pitch + x]; }
  METHOD Colour bytes(int blue, int green, int red) {
    Colour colour = {blue, green, red};
    return colour;
  }
};

// Sixteen bits in the machine's own order, of which the lowest twelve are in use: 4095 is white, and so is more.
struct Level12 {
  METHOD int at(const Frame &frame, int x, int y) {
    return ((const u16 *)(frame.rows + (i64)y * frame.pitch))[x];
  }
  METHOD int byte(int level) { return least(round_to_int(mul_rn((float)level, 255.0f / 4095.0f)), 255); }
  METHOD Colour bytes(int blue, int green, int red) {
    Colour colour = {byte(blue), byte(green), byte(red)};
    return colour;
  }
};

#endif
