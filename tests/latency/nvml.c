/* A libnvidia-ml.so.1 without a driver: two GPUs, or what FAKE_NVML says. The real pynvml calls it. */
#include <stdlib.h>
#include <string.h>

#define OK 0
#define NOT_SUPPORTED 3
#define DRIVER_NOT_LOADED 9
#define GPU_IS_LOST 15

static int is(const char *what) {
  const char *said = getenv("FAKE_NVML");
  return said && strcmp(said, what) == 0;
}

static long device(void *handle) { return (long)handle - 1; }

int nvmlInitWithFlags(unsigned flags) { (void)flags; return is("no driver") ? DRIVER_NOT_LOADED : OK; }
int nvmlShutdown(void) { return OK; }
const char *nvmlErrorString(int code) {
  return code == DRIVER_NOT_LOADED ? "Driver Not Loaded" : code == NOT_SUPPORTED ? "Not Supported" : "GPU is lost";
}
int nvmlSystemGetDriverVersion(char *text, unsigned length) { strncpy(text, "580.95.05", length); return OK; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **handle) { *handle = (void *)(long)(index + 1); return OK; }
int nvmlDeviceGetName(void *handle, char *text, unsigned length) {
  strncpy(text, device(handle) ? "NVIDIA A30 MIG" : "NVIDIA RTX A2000", length);
  return OK;
}
int nvmlDeviceGetUtilizationRates(void *handle, unsigned rates[2]) {
  if (is("lost")) return GPU_IS_LOST;
  if (device(handle)) return NOT_SUPPORTED; /* a GPU cut into instances */
  rates[0] = 37;
  rates[1] = 7;
  return OK;
}
int nvmlDeviceGetMemoryInfo(void *handle, unsigned long long memory[3]) {
  (void)handle;
  if (is("lost")) return GPU_IS_LOST;
  memory[0] = 6000000000ULL; /* total, free, used */
  memory[1] = 4500000000ULL;
  memory[2] = 1500000000ULL;
  return OK;
}
int nvmlDeviceGetClockInfo(void *handle, int kind, unsigned *mhz) {
  (void)handle;
  *mhz = kind == 1 ? 1200 : 0;
  return is("lost") ? GPU_IS_LOST : OK;
}
int nvmlDeviceGetMaxClockInfo(void *handle, int kind, unsigned *mhz) {
  (void)handle;
  *mhz = kind == 1 ? 2100 : 0;
  return is("lost") ? GPU_IS_LOST : OK;
}
#ifdef OLD /* the names of drivers before 535 */
int nvmlDeviceGetTemperature(void *handle, int sensor, unsigned *celsius) {
  (void)handle;
  *celsius = sensor == 0 ? 71 : 0;
  return is("lost") ? GPU_IS_LOST : OK;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *handle, unsigned long long *bits) {
#else
int nvmlDeviceGetTemperatureV(void *handle, int *temperature) { /* version, sensor, celsius */
  (void)handle;
  temperature[2] = temperature[1] == 0 ? 71 : 0;
  return is("lost") ? GPU_IS_LOST : OK;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *handle, unsigned long long *bits) {
#endif
  *bits = device(handle) ? 0x1 : 0x4 | 0x20 | 0x40;
  return is("lost") ? GPU_IS_LOST : OK;
}
