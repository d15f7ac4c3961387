// The boxes over the threshold, gathered from all threads into one piece of memory for the host.
//
// For each sample a header of 32 bytes and then `capacity` records of 32 bytes. Threads come in any order, so the host
// sorts by `row`. Where there are more than fit, or a flag stands, the records are of no use: the host then fetches the
// network's whole outputs and reads them itself, so that it says what is wrong exactly as it does without a GPU.
#ifndef CANDIDATES_CUH
#define CANDIDATES_CUH

#include "portable.cuh"

// Why the host must look for itself. A flag may stand where all is well after all (a number close to its bound), never the
// other way round.
enum Doubt {
  SCORE = 1,   // not finite, or not within 0 to 1 by a thousandth
  NUMBER = 2,  // a box number of any row is not finite
  SIZE = 4,    // a candidate's width or height is negative
  OFFSET = 8,  // YOLOX: a candidate's number is no offset from a grid cell
  CLASS = 16,  // a candidate's class is no whole number
  ANGLE = 32   // a candidate's angle is no angle
};

struct CandidateHeader {
  u32 count;     // boxes over the threshold, also those that did not fit
  u32 doubts;    // Doubt bits
  u32 furthest;  // bits of the largest absolute coordinate of any candidate, in the network's own unit
  u32 token;     // the job's, so that the host knows these results from those of an earlier launch
  u32 unused[4];
};

struct Candidate {
  float x1, y1, x2, y2;  // pixels of the network's input
  float score;
  int class_index;
  int row;      // of the network's output, from 0
  float angle;  // as the network gave it; 0 where it gives none
};

DEVICE CandidateHeader *header_of(u8 *results, int sample, int capacity) {
  return (CandidateHeader *)(results + sample * (i64)(sizeof(CandidateHeader) + capacity * sizeof(Candidate)));
}

DEVICE void doubt(CandidateHeader *header, bool is_so, u32 bit) {
  if (is_so) or_into(&header->doubts, bit);
}

DEVICE void gather(CandidateHeader *header, int capacity, const Candidate &candidate) {
  u32 place = count_up(&header->count);
  if (place < (u32)capacity) ((Candidate *)(header + 1))[place] = candidate;
}

#endif
