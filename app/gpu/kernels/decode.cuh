// A network's raw outputs to candidates: decoded, held against the threshold, and gathered (candidates.cuh).
//
// Entry points, for TYPE float32, float16 (the type of the outputs):
//
//   decode_reset(u8 *results, const DecodeJob *jobs)                grid (1, jobs, 1), block (1, 1, 1); before the others
//   decode_KIND_TYPE(const TYPE *boxes, const TYPE *scores, u8 *results, const DecodeJob *jobs)
//                                    grid (ceil(rows / 64), jobs, 1), block (64, 1, 1); one thread reads one row
//
//   scores      YOLOv8 and its kin, also with masks or an angle, and boxes and scores in two outputs
//   objectness  YOLOv5: centre, size, objectness, classes
//   yolox       the same, as offsets from the cells of grids of stride 8, 16 and 32
//   finished    end to end: corners, score, class
//
//   boxes, scores  device memory; the same pointer where both lie in one output.
//   results        device memory, candidates.cuh.
//   jobs           device memory, one for each sample, so that a captured graph may be launched again with another
//                  threshold.
//
// Every number that the host would check is checked here, also in rows under the threshold.
#ifndef DECODE_CUH
#define DECODE_CUH

#include "candidates.cuh"
#include "portable.cuh"

// 88 bytes; app/gpu/kernels/decode_jobs.py has the same as a NumPy type. Steps and starts are counted in values.
struct DecodeJob {
  i64 boxes, scores;                   // from the pointer to this sample's first box number, and first class score
  int rows, classes;
  int box_step, box_row;               // from one number of a box to the next, and from one row to the next
  int score_step, score_row;
  int corners;                         // boxes are x1, y1, x2, y2; where 0: centre and size
  int angle;                           // steps from a box's first number to its angle; 0: there is none
  int input_w, input_h;                // YOLOX: the network's input, which gives the grids
  int capacity;                        // candidates that fit
  int sample;                          // whose results are written; negative: the job is over
  u32 token;                           // comes back in the header
  float min_score;
  float unit_x, unit_y;                // pixels per unit of the coordinates: 1, or the input's sides
  int unused[2];
};

DEVICE float value_of(const float *values, i64 index) { return values[index]; }
DEVICE float value_of(const half_bits *values, i64 index) { return from_half(values[index]); }

DEVICE bool is_finite(float value) { return absolute(value) <= 3.4e38f; }
DEVICE bool is_score(float value) { return value >= -0.00099f && value <= 1.00099f; }
DEVICE float settled(float score) { return score < 0.0f ? 0.0f : score > 1.0f ? 1.0f : score; }
DEVICE bool passes(float score, float min_score) { return score >= min_score && score > 0.0f; }

struct Best {
  float score;
  int class_index;
  bool all_scores;
};

// The best class, the first of equals; every score of the row is looked at.
template <typename Type>
DEVICE Best best_class(const Type *scores, i64 first, const DecodeJob &job) {
  Best best = {-1.0f, 0, true};
  UNROLL_8  // many loads under way at a time
  for (int index = 0; index < job.classes; index++) {
    float raw = value_of(scores, first + (i64)index * job.score_step);
    best.all_scores &= is_score(raw);
    float score = settled(raw);
    if (score > best.score) {
      best.score = score;
      best.class_index = index;
    }
  }
  return best;
}

struct Numbers {
  float at[4];
};

template <typename Type>
DEVICE Numbers numbers_of(const Type *boxes, const DecodeJob &job, int row) {
  Numbers numbers;
  for (int index = 0; index < 4; index++)
    numbers.at[index] = value_of(boxes, job.boxes + (i64)row * job.box_row + (i64)index * job.box_step);
  return numbers;
}

DEVICE void check_finite(CandidateHeader *header, const Numbers &numbers) {
  bool finite = true;
  for (int index = 0; index < 4; index++) finite &= is_finite(numbers.at[index]);
  doubt(header, !finite, NUMBER);
}

// Keep a candidate: its numbers in the network's unit to corners in pixels of its input.
DEVICE void keep(CandidateHeader *header, const DecodeJob &job, const Numbers &numbers, Candidate candidate) {
  for (int index = 0; index < 4; index++) max_into(&header->furthest, bits_of(absolute(numbers.at[index])));
  float a = mul_rn(numbers.at[0], job.unit_x), b = mul_rn(numbers.at[1], job.unit_y);
  float c = mul_rn(numbers.at[2], job.unit_x), d = mul_rn(numbers.at[3], job.unit_y);
  if (job.corners) {
    doubt(header, c - a < -0.99f || d - b < -0.99f, SIZE);
    candidate.x1 = a;
    candidate.y1 = b;
    candidate.x2 = c;
    candidate.y2 = d;
  } else {
    doubt(header, c < 0.0f || d < 0.0f, SIZE);
    candidate.x1 = add_rn(a, mul_rn(c, -0.5f));
    candidate.y1 = add_rn(b, mul_rn(d, -0.5f));
    candidate.x2 = add_rn(a, mul_rn(c, 0.5f));
    candidate.y2 = add_rn(b, mul_rn(d, 0.5f));
  }
  gather(header, job.capacity, candidate);
}

DEVICE Candidate candidate_of(int row, float score, int class_index) {
  Candidate candidate = {0.0f, 0.0f, 0.0f, 0.0f, score, class_index, row, 0.0f};
  return candidate;
}

struct Scores {
  template <typename Type>
  METHOD void read(const Type *boxes, const Type *scores, CandidateHeader *header, const DecodeJob &job, int row) {
    Best best = best_class(scores, job.scores + (i64)row * job.score_row, job);
    doubt(header, !best.all_scores, SCORE);
    Numbers numbers = numbers_of(boxes, job, row);
    check_finite(header, numbers);
    if (!passes(best.score, job.min_score)) return;
    Candidate candidate = candidate_of(row, best.score, best.class_index);
    if (job.angle) {
      candidate.angle = value_of(boxes, job.boxes + (i64)row * job.box_row + (i64)job.angle * job.box_step);
      doubt(header, !(absolute(candidate.angle) <= 6.28f), ANGLE);
    }
    keep(header, job, numbers, candidate);
  }
};

// Objectness lies between the box and the classes. Answers with a score of 0 where the row is no candidate.
template <typename Type>
DEVICE Best best_with_objectness(const Type *scores, CandidateHeader *header, const DecodeJob &job, int row) {
  i64 first = job.scores + (i64)row * job.score_row;
  float raw = value_of(scores, first - job.score_step);
  Best best = best_class(scores, first, job);
  doubt(header, !best.all_scores || !is_score(raw), SCORE);
  best.score = mul_rn(settled(raw), best.score);
  return best;
}

struct Objectness {
  template <typename Type>
  METHOD void read(const Type *boxes, const Type *scores, CandidateHeader *header, const DecodeJob &job, int row) {
    Best best = best_with_objectness(scores, header, job, row);
    Numbers numbers = numbers_of(boxes, job, row);
    check_finite(header, numbers);
    if (passes(best.score, job.min_score))
      keep(header, job, numbers, candidate_of(row, best.score, best.class_index));
  }
};

struct Cell {
  float column, row, stride;
};

// Where a row's cell lies: grid by grid, finest first, each row by row.
DEVICE Cell cell_of(int row, const DecodeJob &job) {
  Cell cell = {0.0f, 0.0f, 0.0f};
  for (int stride = 8; stride <= 32; stride *= 2) {
    int columns = (job.input_w + stride - 1) / stride, rows = (job.input_h + stride - 1) / stride;
    if (row < columns * rows || stride == 32) {
      cell.column = (float)(row % columns);
      cell.row = (float)(row / columns);
      cell.stride = (float)stride;
      return cell;
    }
    row -= columns * rows;
  }
  return cell;
}

struct Yolox {
  template <typename Type>
  METHOD void read(const Type *boxes, const Type *scores, CandidateHeader *header, const DecodeJob &job, int row) {
    Best best = best_with_objectness(scores, header, job, row);
    Numbers raw = numbers_of(boxes, job, row);
    check_finite(header, raw);
    if (!passes(best.score, job.min_score)) return;
    Cell cell = cell_of(row, job);
    float side = (float)most(job.input_w, job.input_h);
    float largest = log_of(16.0f * side / cell.stride) - 0.001f, furthest = side / cell.stride + 0.999f;
    bool is_offset = absolute(raw.at[0]) <= furthest && absolute(raw.at[1]) <= furthest && raw.at[2] <= largest &&
                     raw.at[3] <= largest;
    doubt(header, !is_offset, OFFSET);
    Numbers numbers = {{
        mul_rn(add_rn(raw.at[0], cell.column), cell.stride),
        mul_rn(add_rn(raw.at[1], cell.row), cell.stride),
        mul_rn(exp_of(raw.at[2]), cell.stride),
        mul_rn(exp_of(raw.at[3]), cell.stride),
    }};
    keep(header, job, numbers, candidate_of(row, best.score, best.class_index));
  }
};

struct Finished {
  template <typename Type>
  METHOD void read(const Type *boxes, const Type *scores, CandidateHeader *header, const DecodeJob &job, int row) {
    i64 first = job.scores + (i64)row * job.score_row;
    float raw = value_of(scores, first), class_number = value_of(scores, first + job.score_step);
    doubt(header, !is_score(raw), SCORE);
    Numbers numbers = numbers_of(boxes, job, row);
    check_finite(header, numbers);
    if (!passes(settled(raw), job.min_score)) return;
    bool may_be_class = class_number >= 0.0f && class_number <= 65535.0f;
    int class_index = may_be_class ? (int)class_number : 0;
    doubt(header, !may_be_class || (float)class_index != class_number, CLASS);
    keep(header, job, numbers, candidate_of(row, settled(raw), class_index));
  }
};

template <typename Kind, typename Type>
DEVICE void decode(const Type *boxes, const Type *scores, u8 *results, const DecodeJob *jobs) {
  const DecodeJob job = jobs[blockIdx.y];
  int row = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (job.sample < 0 || row >= job.rows) return;
  Kind::read(boxes, scores, header_of(results, job.sample, job.capacity), job, row);
}

KERNEL decode_reset(u8 *results, const DecodeJob *jobs) {
  const DecodeJob job = jobs[blockIdx.y];
  if (job.sample < 0) return;
  CandidateHeader empty = {0, 0, 0, job.token, {0, 0, 0, 0}};
  *header_of(results, job.sample, job.capacity) = empty;
}

#define DECODE(NAME, KIND, SUFFIX, TYPE)                                                                          \
  KERNEL decode_##NAME##_##SUFFIX(const TYPE *boxes, const TYPE *scores, u8 *results, const DecodeJob *jobs) {    \
    decode<KIND>(boxes, scores, results, jobs);                                                                   \
  }
#define DECODES(NAME, KIND)            \
  DECODE(NAME, KIND, float32, float)   \
  DECODE(NAME, KIND, float16, half_bits)

DECODES(scores, Scores)
DECODES(objectness, Objectness)
DECODES(yolox, Yolox)
DECODES(finished, Finished)

#endif
