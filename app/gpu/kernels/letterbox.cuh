// A camera's frame to a network's input: converted, cut out, resized, padded, scaled and put in order by one kernel.
//
// Each pixel that is fetched becomes whole numbers from 0 to 255 first, as on the processor (pixels.cuh); from there on
// nothing is rounded before it is written.
//
// Entry points, for FORMAT bgr8, gray8, nv12, yuyv, bayer8, bayer12 and TYPE float32, float16, uint8:
//
//   letterbox_FORMAT_TYPE(const u8 *frames, TYPE *inputs, const LetterboxJob *jobs)
//
//   grid   (ceil(out_w / 32), ceil(out_h / 8), jobs), block (32, 8, 1); no shared memory. One thread writes one pixel.
//   frames device (or mapped) memory with the frames as the camera gave them, read in whole aligned words: up to three
//          bytes before and after a frame are touched and not used.
//   inputs the network's input, C-contiguous, (samples, c, h, w) or (samples, h, w, c).
//   jobs   device memory, one for each sample to be filled, so that a captured graph may be launched again with other
//          regions: only this memory has to change.
//
// Every value of the sample is written, pads included. All jobs of one launch have the same out_w and out_h.
#ifndef LETTERBOX_CUH
#define LETTERBOX_CUH

#include "pixels.cuh"
#include "portable.cuh"
#include "resample.cuh"

enum Order { RGB = 0, BGR = 1, GREY = 2 };
enum Layout { PLANAR = 0, INTERLEAVED = 1 };

// 104 bytes; app/gpu/kernels/letterbox_jobs.py has the same as a NumPy type.
struct LetterboxJob {
  i64 frame;                                 // bytes from `frames` to this frame's first row
  i64 chroma;                                // NV12: bytes from `frames` to its first row of chroma
  int pitch, chroma_pitch;                   // bytes from row to row
  int frame_w, frame_h;                      // the whole frame, pixels
  int crop_x, crop_y, crop_w, crop_h;        // the part of it to show; nothing outside it shines in at its edges
  int out_w, out_h;                          // the network's input
  int pad_left, pad_top;                     // where the picture begins there
  int resized_w, resized_h;                  // its size there
  int filter;                                // Filter
  int order;                                 // Order of the channels; GREY: one channel
  int layout;                                // Layout
  int pattern;                               // Bayer: see pixels.cuh
  int sample;                                // which sample of `inputs` is filled; negative: none, the job is over
  float pad;                                 // grey of the padding, 0 to 255
  float scale;                               // factor on 0 to 255
  int unused;                                // so that no compiler adds bytes of its own
};

DEVICE void put(float *inputs, i64 index, float value) { inputs[index] = value; }
DEVICE void put(half_bits *inputs, i64 index, float value) { inputs[index] = to_half(value); }
DEVICE void put(u8 *inputs, i64 index, float value) { inputs[index] = (u8)within(round_to_int(value), 0, 255); }

template <typename Type>
DEVICE void put_pixel(Type *inputs, const LetterboxJob &job, int x, int y, const Colour &colour) {
  int channels = job.order == GREY ? 1 : 3;
  i64 area = (i64)job.out_w * job.out_h, place = (i64)y * job.out_w + x;
  Type *sample = inputs + job.sample * channels * area;
  if (job.order == GREY) {  // all three are the same
    put(sample, place, mul_rn(colour.green, job.scale));
    return;
  }
  i64 step = job.layout == PLANAR ? area : 1, first = job.layout == PLANAR ? place : 3 * place;
  put(sample, first, mul_rn(job.order == RGB ? colour.red : colour.blue, job.scale));
  put(sample, first + step, mul_rn(colour.green, job.scale));
  put(sample, first + 2 * step, mul_rn(job.order == RGB ? colour.blue : colour.red, job.scale));
}

DEVICE void add(Colour &sum, float share, const Colour &colour) {
  sum.blue = fma_rn(share, colour.blue, sum.blue);
  sum.green = fma_rn(share, colour.green, sum.green);
  sum.red = fma_rn(share, colour.red, sum.red);
}

// A picture's pixel as the network wants it: of its bytes one grey, before anything is resized, or three colours.
template <typename Format>
DEVICE Colour pixel_at(const Frame &frame, const LetterboxJob &job, int x, int y) {
  Colour colour = Format::at(frame, x, y);
  return job.order == GREY ? grey_of(colour) : colour;
}

template <typename Format>
DEVICE Four four_at(const Frame &frame, const LetterboxJob &job, int x, int y) {
  Four four = Format::four(frame, x, y);
  if (job.order != GREY) return four;
  UNROLL_ALL for (int index = 0; index < 4; index++) four.at[index] = grey_of(four.at[index]);
  return four;
}

// The part of a row that one target pixel covers, weighed.
template <typename Format>
DEVICE Colour look_along(const Frame &frame, const LetterboxJob &job, const Span &across, int row) {
  Colour sum = {0.0f, 0.0f, 0.0f};
  if (job.filter == LINEAR) {
    for (int column = across.first; column <= across.last; column++)
      add(sum, weight(across, column), pixel_at<Format>(frame, job, job.crop_x + column, job.crop_y + row));
    return sum;
  }
  for (int column = across.first; column <= across.last; column += 4) {
    Four four = four_at<Format>(frame, job, job.crop_x + column, job.crop_y + row);
    UNROLL_ALL for (int index = 0; index < 4; index++)
        add(sum, column + index <= across.last ? weight(across, column + index) : 0.0f, four.at[index]);
  }
  return sum;
}

template <typename Format>
DEVICE Colour look(const Frame &frame, const LetterboxJob &job, int x, int y) {
  Span across = span_of(job.filter, x, job.resized_w, job.crop_w);
  Span along = span_of(job.filter, y, job.resized_h, job.crop_h);
  Colour sum = {0.0f, 0.0f, 0.0f};
  for (int row = along.first; row <= along.last; row++)
    add(sum, weight(along, row), look_along<Format>(frame, job, across, row));
  return sum;
}

template <typename Format, typename Type>
DEVICE void letterbox(const u8 *frames, Type *inputs, const LetterboxJob *jobs) {
  const LetterboxJob job = jobs[blockIdx.z];
  int x = (int)(blockIdx.x * blockDim.x + threadIdx.x), y = (int)(blockIdx.y * blockDim.y + threadIdx.y);
  if (job.sample < 0 || x >= job.out_w || y >= job.out_h) return;
  int column = x - job.pad_left, row = y - job.pad_top;
  Colour colour = {job.pad, job.pad, job.pad};
  if (column >= 0 && column < job.resized_w && row >= 0 && row < job.resized_h) {
    Frame frame = {frames + job.frame, frames + job.chroma, job.pitch,  job.chroma_pitch,
                   job.frame_w,        job.frame_h,         job.pattern};
    colour = look<Format>(frame, job, column, row);
  }
  put_pixel(inputs, job, x, y, colour);
}

#define LETTERBOX(NAME, FORMAT, SUFFIX, TYPE)                                                                  \
  KERNEL letterbox_##NAME##_##SUFFIX(const u8 *frames, TYPE *inputs, const LetterboxJob *jobs) {               \
    letterbox<FORMAT>(frames, inputs, jobs);                                                                   \
  }
#define LETTERBOXES(NAME, FORMAT)             \
  LETTERBOX(NAME, FORMAT, float32, float)     \
  LETTERBOX(NAME, FORMAT, float16, half_bits) \
  LETTERBOX(NAME, FORMAT, uint8, u8)

LETTERBOXES(bgr8, Bgr8)
LETTERBOXES(gray8, Gray8)
LETTERBOXES(nv12, Nv12)
LETTERBOXES(yuyv, Yuyv)
LETTERBOXES(bayer8, Bayer<Level8>)
LETTERBOXES(bayer12, Bayer<Level12>)

#endif
