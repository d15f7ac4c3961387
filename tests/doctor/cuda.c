/* A libcuda.so.1 with two devices; FAKE_CUDA is the code that cuInit gives, or "hang", or "crash". */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cuInit(unsigned flags) {
  const char *said = getenv("FAKE_CUDA");
  (void)flags;
  if (said && strcmp(said, "hang") == 0) pause();
  if (said && strcmp(said, "crash") == 0) abort();
  return said ? atoi(said) : 0;
}
int cuDriverGetVersion(int *version) { *version = 13020; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int number) { *device = number + 7; return 0; }
int cuDeviceGetName(char *name, int length, int device) {
  strncpy(name, device == 7 ? "NVIDIA RTX A2000" : "NVIDIA A30", length);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute == 75 ? 8 : 6;
  return 0;
}
