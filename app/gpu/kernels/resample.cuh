// Where a target pixel looks in the picture, and how much of each pixel it takes: linear or by area.
//
// Places are fractions of whole numbers, never floats: at 4,000 pixels from the edge a float is 1/4,000 off, and a target
// pixel's weights with it.
#ifndef RESAMPLE_CUH
#define RESAMPLE_CUH

#include "portable.cuh"

enum Filter { LINEAR = 0, AREA = 1 };

// Pixels `first` to `last` of a line, and what each weighs.
struct Span {
  int first, last;
  float at_first, between, at_last;
};

// Half-pixel centres, the edge repeated: cv2.INTER_LINEAR.
DEVICE Span linear_span(int target, int targets, int sources) {
  int place = most((2 * target + 1) * sources - targets, 0);
  int first = place / (2 * targets);
  Span span = {first, first + 1, 0.0f, 0.0f, (float)(place - first * 2 * targets) / (float)(2 * targets)};
  if (first >= sources - 1) {
    span.first = span.last = sources - 1;
    span.at_last = 0.0f;
  }
  span.at_first = 1.0f - span.at_last;
  return span;
}

// Each pixel by the share of it that the target covers: cv2.INTER_AREA.
DEVICE Span area_span(int target, int targets, int sources) {
  int begin = target * sources, end = begin + sources;
  int first = begin / targets, last = (end - 1) / targets;
  float whole = (float)targets / (float)sources;
  int outside_first = begin - first * targets, outside_last = (last + 1) * targets - end;
  Span span = {first, last, whole, whole, whole};
  if (first == last) {
    span.at_first = 1.0f;
    return span;
  }
  span.at_first = (float)(targets - outside_first) / (float)sources;
  span.at_last = (float)(targets - outside_last) / (float)sources;
  return span;
}

DEVICE Span span_of(int filter, int target, int targets, int sources) {
  return filter == AREA ? area_span(target, targets, sources) : linear_span(target, targets, sources);
}

DEVICE float weight(const Span &span, int index) {
  return index == span.first ? span.at_first : index == span.last ? span.at_last : span.between;
}

#endif
