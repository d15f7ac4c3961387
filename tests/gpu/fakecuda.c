/* A stand-in for NVIDIA's driver library on host memory, for tests on machines without a GPU.
 *
 * It is harder to please than it has to be: streams run nothing until somebody waits for them, so that whoever reads
 * too early reads the poison that new memory is filled with; copies must lie inside memory that is there; and what the
 * driver refuses while a stream is being captured is refused here too. Kernels are C functions of another library
 * (fakecuda_kernels): void emu_NAME(unsigned *grid, unsigned *block, void **arguments), and emu_NAME_sig, the sizes of
 * the arguments in bytes, ending in 0.
 *
 * Tests steer it by the functions that begin with fakecuda_. Several threads may use it: one of them is in it at a time,
 * but while a host function runs, which may wait for the interpreter. A stream that one thread runs another leaves alone.
 * Error codes are those of the documentation; none of this was compared with a real driver. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef int Result;
typedef uint64_t Address;
enum {
  OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101,
  INVALID_IMAGE = 200, INVALID_CONTEXT = 201, INVALID_HANDLE = 400, ILLEGAL_STATE = 401, NOT_FOUND = 500,
  NOT_READY = 600, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, NOT_SUPPORTED = 801, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901, CAPTURE_UNMATCHED = 903,
  CAPTURE_IMPLICIT = 906, CAPTURE_WRONG_THREAD = 908
};

/* ── what tests steer ─────────────────────────────────────────────────────────────────────────────────────────────── */

static int present, initialised, capturing_streams, integrated;
static Address largest = (Address)1 << 32; /* an allocation over this fails */

typedef struct { const char *name; int capturing; } Call;
#define CALLS 65536
static Call calls[CALLS];
static int call_count;

typedef struct { char name[64]; int after; Result code; } Fault;
static Fault fault;
static Result sticky; /* every call fails with it from now on, but those that enter and leave a context */

enum { MEMORY, PINNED, REGISTERED, STREAMS, EVENTS, MODULES, GRAPHS, EXECS, CONTEXTS, KINDS };
static const char *kind_names[KINDS] = {"memory", "pinned", "registered", "streams", "events", "modules", "graphs", "execs", "contexts"};
static int live[KINDS];

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER; /* a stream has nothing to do any longer */
typedef int Inside;
static Inside come_in(void) { pthread_mutex_lock(&door); return 1; }
static void go_out(Inside *inside) { (void)inside; pthread_mutex_unlock(&door); }
#define INSIDE __attribute__((cleanup(go_out), unused)) Inside inside_ = come_in()

static Result enter(const char *name) {
  if (call_count < CALLS) calls[call_count] = (Call){name, capturing_streams > 0};
  call_count++;
  if (!present && strcmp(name, "cuInit") != 0) return NOT_INITIALIZED;
  if (fault.after > 0 && strcmp(fault.name, name) == 0 && --fault.after == 0) {
    if (fault.code == 700 || fault.code == 702 || fault.code == 709 || fault.code == 710 || (fault.code > 713 && fault.code < 720)) sticky = fault.code;
    return fault.code;
  }
  return strncmp(name, "cuCtx", 5) && strncmp(name, "cuDevicePrimary", 15) ? sticky : OK;
}
#define ENTER INSIDE; do { Result r_ = enter(__func__); if (r_ != OK) return r_; } while (0)

void fakecuda_present(int yes) { present = yes; initialised = 0; }
void fakecuda_integrated(int yes) { integrated = yes; }
void fakecuda_largest(Address bytes) { largest = bytes; }
void fakecuda_fail(const char *name, int nth, int code) { snprintf(fault.name, sizeof fault.name, "%s", name); fault.after = nth; fault.code = code; }
void fakecuda_heal(void) { fault.after = 0; sticky = OK; }
int fakecuda_hit(void) { return fault.after == 0; }
static int up_count;
void fakecuda_forget_calls(void) { call_count = up_count = 0; }
int fakecuda_calls(void) { return call_count < CALLS ? call_count : CALLS; }
const char *fakecuda_call(int index, int *capturing) { *capturing = calls[index].capturing; return calls[index].name; }
int fakecuda_live(const char *kind) { for (int i = 0; i < KINDS; i++) if (!strcmp(kind_names[i], kind)) return live[i]; return -1; }

#define LIBRARIES 8
static void *kernel_libraries[LIBRARIES];
int fakecuda_kernels(const char *path) {
  for (int i = 0; i < LIBRARIES; i++) {
    if (kernel_libraries[i] != NULL) continue;
    kernel_libraries[i] = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return kernel_libraries[i] != NULL;
  }
  return 0;
}

/* ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────── */

typedef struct Block { Address begin; size_t bytes; int kind; struct Block *next; } Block;
static Block *blocks;

static Block *block_of(Address begin, size_t bytes) {
  for (Block *b = blocks; b; b = b->next)
    if (begin >= b->begin && begin + bytes <= b->begin + b->bytes) return b;
  return NULL;
}
static Result take(Address *out, size_t bytes, int kind) {
  void *memory = NULL;
  if (bytes == 0) return INVALID_VALUE;
  if (bytes > largest || posix_memalign(&memory, 4096, bytes)) return OUT_OF_MEMORY;
  memset(memory, 0xA5, bytes);
  Block *b = malloc(sizeof *b);
  *b = (Block){(Address)memory, bytes, kind, blocks};
  blocks = b;
  live[kind]++;
  *out = b->begin;
  return OK;
}
static Result give_back(Address begin, int kind) {
  for (Block **at = &blocks; *at; at = &(*at)->next) {
    if ((*at)->begin != begin || (*at)->kind != kind) continue;
    Block *gone = *at;
    *at = gone->next;
    memset((void *)gone->begin, 0xDD, gone->bytes);
    free((void *)gone->begin);
    free(gone);
    live[kind]--;
    return OK;
  }
  return INVALID_VALUE;
}

/* ── work ─────────────────────────────────────────────────────────────────────────────────────────────────────────── */

typedef struct Op Op;
typedef struct { Op *head, *tail; int count; } Line;
struct Op { enum { COPY, FILL, KERNEL, HOST, RECORD, WAIT, GRAPH } kind; Address to, from; size_t bytes; int value, off; void *thing; unsigned shape[6]; char *arguments; size_t argument_bytes; Op *next; };
typedef struct { unsigned magic; int flags, capturing, invalid, mode, running; pthread_t owner, runner; Line pending, captured; } Stream;
typedef struct { unsigned magic; double at_ms; int recorded; Stream *pending_on; } Event;
typedef struct Graph { unsigned magic; Line line; struct Graph *origin; } Graph; /* origin: what an executable one was made of */
typedef struct { void (*call)(unsigned *, unsigned *, void **); const unsigned char *sizes; } Function;
#define STREAM_MAGIC 0x51u
#define EVENT_MAGIC 0xE7u
#define GRAPH_MAGIC 0x67u
#define EXEC_MAGIC 0xECu

static Stream legacy = {.magic = STREAM_MAGIC};
#define STREAMS_MOST 256
static Stream *streams[STREAMS_MOST];

/* As if the process had been started anew: nothing is counted, run or registered any more; memory stays, somebody may hold it. */
void fakecuda_forgive(void) {
  for (Block **at = &blocks; *at;) { Block *b = *at; if (b->kind == REGISTERED) { *at = b->next; free(b); } else at = &b->next; }
  memset(live, 0, sizeof live); memset(streams, 0, sizeof streams); capturing_streams = 0;
}

static Stream *stream_of(void *handle) { return handle == NULL || handle == (void *)1 || handle == (void *)2 ? &legacy : handle; }
static double now_ms(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e3 + t.tv_nsec / 1e6; }

static void append(Line *line, const Op *op) {
  Op *copy = malloc(sizeof *copy);
  *copy = *op;
  copy->next = NULL;
  if (op->arguments) copy->arguments = memcpy(malloc(op->argument_bytes), op->arguments, op->argument_bytes);
  if (line->tail) line->tail->next = copy; else line->head = copy;
  line->tail = copy;
  line->count++;
}
static void empty(Line *line) {
  for (Op *op = line->head, *next; op; op = next) { next = op->next; free(op->arguments); free(op); }
  *line = (Line){0};
}
static void drain(Stream *stream);

/* Copies from the host's memory to the GPU's that were really made, by their size. */
static size_t ups[CALLS];
int fakecuda_ups(Address at_least) { int n = 0; for (int i = 0; i < up_count && i < CALLS; i++) n += ups[i] >= at_least; return n; }
static int is_kind(Address begin, int kind) { Block *b = block_of(begin, 1); return b && b->kind == kind; }
static void went_up(Address to, Address from, size_t bytes) {
  if (is_kind(to, MEMORY) && !is_kind(from, MEMORY)) { if (up_count < CALLS) ups[up_count] = bytes; up_count++; }
}
static void perform(const Op *op) {
  if (op->off) return; /* a node that is not enabled is an empty one */
  switch (op->kind) {
    case COPY: went_up(op->to, op->from, op->bytes); memmove((void *)op->to, (void *)op->from, op->bytes); break;
    case FILL: memset((void *)op->to, op->value, op->bytes); break;
    case HOST: pthread_mutex_unlock(&door); ((void (*)(void *))op->thing)((void *)op->to); pthread_mutex_lock(&door); break;
    case RECORD: { Event *e = op->thing; e->at_ms = now_ms(); e->recorded = 1; e->pending_on = NULL; break; }
    case WAIT: { Event *e = op->thing; if (e->pending_on) drain(e->pending_on); break; }
    case GRAPH: for (const Op *inner = ((Graph *)op->thing)->line.head; inner; inner = inner->next) perform(inner); break;
    case KERNEL: {
      Function *f = op->thing;
      void *places[16];
      size_t at = 0;
      int n = 0;
      for (const unsigned char *size = f->sizes; *size; size++) {
        size_t align = *size == 8 ? 8 : 4;
        at = (at + align - 1) / align * align;
        places[n++] = op->arguments + at;
        at += *size;
      }
      f->call((unsigned *)op->shape, (unsigned *)op->shape + 3, places);
    }
  }
}
static void drain(Stream *stream) {
  if (stream->running) return;
  stream->running = 1;
  stream->runner = pthread_self();
  while (stream->pending.head) {
    Op *op = stream->pending.head;
    stream->pending.head = op->next;
    if (!op->next) stream->pending.tail = NULL;
    stream->pending.count--;
    perform(op);
    if (op->kind == GRAPH) { empty(&((Graph *)op->thing)->line); free(op->thing); }
    free(op->arguments);
    free(op);
  }
  stream->running = 0;
  pthread_cond_broadcast(&done);
}
/* As drain; what another thread has begun, which may be in a function of the host's, is waited for. */
static void finish(Stream *stream) {
  while (stream->running && !pthread_equal(stream->runner, pthread_self())) pthread_cond_wait(&done, &door);
  drain(stream);
}
static void drain_all(void) { for (int i = 0; i < STREAMS_MOST; i++) if (streams[i]) drain(streams[i]); drain(&legacy); }

/* Whether work that is still to be done reads from here: memory that is let go under it would be a driver's worst. */
static int line_reads(const Line *line, Address begin, size_t bytes) {
  for (const Op *op = line->head; op; op = op->next) {
    if (op->kind == COPY && !op->off && op->from < begin + bytes && begin < op->from + op->bytes) return 1;
    if (op->kind == GRAPH && line_reads(&((Graph *)op->thing)->line, begin, bytes)) return 1;
  }
  return 0;
}
static int is_read(Address begin, size_t bytes) {
  for (int i = 0; i < STREAMS_MOST; i++) if (streams[i] && line_reads(&streams[i]->pending, begin, bytes)) return 1;
  return line_reads(&legacy.pending, begin, bytes);
}

/* What may not be done while this thread captures (or any thread, in the global mode): it spoils the capture. */
static Result unsafe(void) {
  Result result = OK;
  for (int i = 0; i < STREAMS_MOST; i++) {
    Stream *s = streams[i];
    if (!s || !s->capturing || s->mode == 2 || (s->mode == 1 && !pthread_equal(s->owner, pthread_self()))) continue;
    s->invalid = 1;
    result = CAPTURE_UNSUPPORTED;
  }
  return result;
}
static Result submit(void *handle, const Op *op) {
  Stream *stream = stream_of(handle);
  if (stream->magic != STREAM_MAGIC) return INVALID_HANDLE;
  if (stream == &legacy)
    for (int i = 0; i < STREAMS_MOST; i++)
      if (streams[i] && streams[i]->capturing && !(streams[i]->flags & 1)) { streams[i]->invalid = 1; return CAPTURE_IMPLICIT; }
  if (stream->capturing) {
    if (stream->invalid) return CAPTURE_INVALIDATED;
    append(&stream->captured, op);
    return OK;
  }
  append(&stream->pending, op);
  return OK;
}
static Result copy(void *stream, Address to, Address from, size_t bytes, int device_to, int device_from) {
  if (device_to && !block_of(to, bytes)) return INVALID_VALUE;
  if (device_from && !block_of(from, bytes)) return INVALID_VALUE;
  Op op = {COPY, to, from, bytes};
  return submit(stream, &op);
}

/* ── the driver: start, devices, contexts ─────────────────────────────────────────────────────────────────────────── */

static int context, module_;
static __thread int depth;
int fakecuda_depth(void) { return depth; }

Result cuInit(unsigned flags) { ENTER; if (!present) return NO_DEVICE; initialised = 1; return flags ? INVALID_VALUE : OK; }
Result cuDriverGetVersion(int *version) { ENTER; *version = 13000; return OK; }
Result cuDeviceGetCount(int *count) { ENTER; *count = 1; return OK; }
Result cuDeviceGet(int *device, int ordinal) { ENTER; if (!initialised) return NOT_INITIALIZED; if (ordinal != 0) return INVALID_DEVICE; *device = 0; return OK; }
Result cuDeviceGetName(char *name, int length, int device) { ENTER; (void)device; snprintf(name, length, "Host memory (no GPU)"); return OK; }
Result cuDeviceComputeCapability(int *major, int *minor, int device) { ENTER; (void)device; *major = 8; *minor = 7; return OK; }
Result cuDeviceTotalMem_v2(size_t *bytes, int device) { ENTER; (void)device; *bytes = (size_t)8 << 30; return OK; }
Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  ENTER; (void)device;
  switch (attribute) {
    case 1: *value = 1024; break;              /* threads of a block */
    case 10: *value = 32; break;               /* threads of a warp */
    case 16: *value = 8; break;                /* multiprocessors */
    case 18: *value = integrated; break;       /* shares the host's memory */
    case 75: *value = 8; break; case 76: *value = 7; break; /* compute capability */
    default: *value = 1;
  }
  return OK;
}
Result cuDevicePrimaryCtxRetain(void **out, int device) { ENTER; (void)device; *out = &context; live[CONTEXTS]++; return OK; }
Result cuDevicePrimaryCtxRelease_v2(int device) { ENTER; (void)device; if (live[CONTEXTS] == 0) return INVALID_CONTEXT; live[CONTEXTS]--; return OK; }
Result cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) { ENTER; (void)device; *flags = 0; *active = live[CONTEXTS] > 0; return OK; }
Result cuCtxCreate_v4(void **out, void *parameters, unsigned flags, int device) { ENTER; (void)out; (void)parameters; (void)flags; (void)device; return NOT_SUPPORTED; /* a second context is a mistake */ }
Result cuCtxCreate_v2(void **out, unsigned flags, int device) { ENTER; (void)out; (void)flags; (void)device; return NOT_SUPPORTED; }
Result cuCtxPushCurrent_v2(void *c) { ENTER; if (c != &context) return INVALID_CONTEXT; depth++; return OK; }
Result cuCtxPopCurrent_v2(void **out) { ENTER; if (depth == 0) return INVALID_CONTEXT; depth--; if (out) *out = &context; return OK; }
Result cuCtxGetCurrent(void **out) { ENTER; *out = depth ? &context : NULL; return OK; }
Result cuCtxSetCurrent(void *c) { ENTER; if (depth == 0 && c) depth = 1; return OK; }
Result cuCtxGetDevice(int *device) { ENTER; if (!depth) return INVALID_CONTEXT; *device = 0; return OK; }
Result cuCtxGetApiVersion(void *c, unsigned *version) { ENTER; (void)c; *version = 13000; return OK; }
Result cuCtxSynchronize(void) { ENTER; if (!depth) return INVALID_CONTEXT; Result r = unsafe(); if (r == OK) drain_all(); return r; }
Result cuGetErrorName(int code, const char **name) {
  switch (code) {
    case OUT_OF_MEMORY: *name = "CUDA_ERROR_OUT_OF_MEMORY"; break;
    case 700: *name = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
    case CAPTURE_UNSUPPORTED: *name = "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"; break;
    case CAPTURE_INVALIDATED: *name = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"; break;
    default: *name = "CUDA_ERROR_OF_THE_FAKE";
  }
  return OK;
}
Result cuGetErrorString(int code, const char **text) {
  switch (code) {
    case OUT_OF_MEMORY: *text = "out of memory"; break;
    case INVALID_CONTEXT: *text = "invalid device context"; break;
    case INVALID_HANDLE: *text = "invalid resource handle"; break;
    case CAPTURE_UNSUPPORTED: *text = "operation not permitted when stream is capturing"; break;
    case CAPTURE_INVALIDATED: *text = "operation failed due to a previous error during capture"; break;
    case CAPTURE_IMPLICIT: *text = "operation would make the legacy stream depend on a capturing blocking stream"; break;
    default: *text = "an error of the fake driver";
  }
  return OK;
}

/* ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────── */

Result cuMemGetInfo_v2(size_t *free_, size_t *total) { ENTER; *total = (size_t)8 << 30; *free_ = *total / 2; return OK; }
Result cuMemAlloc_v2(Address *out, size_t bytes) { ENTER; if (!depth) return INVALID_CONTEXT; Result r = unsafe(); return r ? r : take(out, bytes, MEMORY); }
Result cuMemFree_v2(Address begin) { ENTER; if (begin == 0) return OK; Result r = unsafe(); if (r) return r; drain_all(); return give_back(begin, MEMORY); }
Result cuMemHostAlloc(void **out, size_t bytes, unsigned flags) { ENTER; (void)flags; if (!depth) return INVALID_CONTEXT; Result r = unsafe(); return r ? r : take((Address *)out, bytes, PINNED); }
Result cuMemFreeHost(void *begin) { ENTER; Result r = unsafe(); if (r) return r; drain_all(); return give_back((Address)begin, PINNED); }
Result cuMemHostGetFlags(unsigned *flags, void *begin) { ENTER; (void)begin; *flags = 2; return OK; }
Result cuMemHostGetDevicePointer_v2(Address *out, void *begin, unsigned flags) { ENTER; (void)flags; *out = (Address)begin; return block_of(*out, 1) ? OK : INVALID_VALUE; }

/* Memory of the process itself, which the driver pins where it is. */
Result cuMemHostRegister_v2(void *begin, size_t bytes, unsigned flags) {
  ENTER;
  if (!depth) return INVALID_CONTEXT;
  if (bytes == 0 || flags & ~15u) return INVALID_VALUE;
  Result r = unsafe();
  if (r) return r;
  for (Block *b = blocks; b; b = b->next)
    if ((Address)begin < b->begin + b->bytes && b->begin < (Address)begin + bytes) return ALREADY_REGISTERED;
  Block *b = malloc(sizeof *b);
  *b = (Block){(Address)begin, bytes, REGISTERED, blocks};
  blocks = b;
  live[REGISTERED]++;
  return OK;
}
Result cuMemHostUnregister(void *begin) {
  ENTER;
  Result r = unsafe();
  if (r) return r;
  for (Block **at = &blocks; *at; at = &(*at)->next) {
    if ((*at)->begin != (Address)begin || (*at)->kind != REGISTERED) continue;
    if (is_read((*at)->begin, (*at)->bytes)) return ILLEGAL_STATE;
    Block *gone = *at;
    *at = gone->next;
    free(gone);
    live[REGISTERED]--;
    return OK;
  }
  return NOT_REGISTERED;
}

/* From memory that is not pinned the driver copies before it returns; from pinned memory when the stream gets there. */
Result cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes, void *stream) {
  ENTER;
  if (!block_of((Address)from, bytes) && !stream_of(stream)->capturing) { if (!block_of(to, bytes)) return INVALID_VALUE; drain(stream_of(stream)); went_up(to, (Address)from, bytes); memcpy((void *)to, from, bytes); return OK; }
  return copy(stream, to, (Address)from, bytes, 1, 0);
}
Result cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, void *stream) { ENTER; return copy(stream, (Address)to, from, bytes, 0, 1); }
Result cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void *stream) { ENTER; return copy(stream, to, from, bytes, 1, 1); }
Result cuMemcpyHtoD_v2(Address to, const void *from, size_t bytes) { ENTER; Result r = unsafe(); if (r == OK) r = copy(NULL, to, (Address)from, bytes, 1, 0); drain(&legacy); return r; }
Result cuMemcpyDtoH_v2(void *to, Address from, size_t bytes) { ENTER; Result r = unsafe(); if (r == OK) r = copy(NULL, (Address)to, from, bytes, 0, 1); drain(&legacy); return r; }
Result cuMemsetD8Async(Address to, unsigned char value, size_t bytes, void *stream) { ENTER; if (!block_of(to, bytes)) return INVALID_VALUE; Op op = {FILL, to, 0, bytes, value}; return submit(stream, &op); }
Result cuMemsetD8_v2(Address to, unsigned char value, size_t bytes) { ENTER; if (!block_of(to, bytes)) return INVALID_VALUE; memset((void *)to, value, bytes); return OK; }

/* ── streams and events ───────────────────────────────────────────────────────────────────────────────────────────── */

Result cuStreamCreate(void **out, unsigned flags) {
  ENTER;
  if (!depth) return INVALID_CONTEXT;
  for (int i = 0; i < STREAMS_MOST; i++) {
    if (streams[i]) continue;
    Stream *s = calloc(1, sizeof *s);
    s->magic = STREAM_MAGIC; s->flags = flags;
    streams[i] = *out = s;
    live[STREAMS]++;
    return OK;
  }
  return OUT_OF_MEMORY;
}
Result cuStreamDestroy_v2(void *handle) {
  ENTER;
  for (int i = 0; i < STREAMS_MOST; i++) {
    if (streams[i] != handle) continue;
    drain(handle);
    if (streams[i]->capturing) capturing_streams--;
    empty(&streams[i]->captured);
    streams[i]->magic = 0;
    free(handle);
    streams[i] = NULL;
    live[STREAMS]--;
    return OK;
  }
  return INVALID_HANDLE;
}
Result cuStreamSynchronize(void *handle) { ENTER; Stream *s = stream_of(handle); if (s->capturing) { s->invalid = 1; return CAPTURE_UNSUPPORTED; } finish(s); return OK; }
Result cuStreamQuery(void *handle) { ENTER; Stream *s = stream_of(handle); if (s->capturing) { s->invalid = 1; return CAPTURE_UNSUPPORTED; } if (!s->pending.count) return OK; drain(s); return NOT_READY; }
Result cuStreamWaitEvent(void *handle, void *event, unsigned flags) { ENTER; (void)flags; Op op = {WAIT}; op.thing = event; return submit(handle, &op); }
Result cuEventCreate(void **out, unsigned flags) { ENTER; (void)flags; if (!depth) return INVALID_CONTEXT; Event *e = calloc(1, sizeof *e); e->magic = EVENT_MAGIC; *out = e; live[EVENTS]++; return OK; }
Result cuEventDestroy_v2(void *handle) { ENTER; Event *e = handle; if (e->magic != EVENT_MAGIC) return INVALID_HANDLE; drain_all(); e->magic = 0; free(e); live[EVENTS]--; return OK; }
static Result record(Event *e, void *handle, int external) {
  if (e->magic != EVENT_MAGIC) return INVALID_HANDLE;
  Stream *s = stream_of(handle);
  Op op = {RECORD};
  op.thing = e;
  if (s->capturing && !external) return s->invalid ? CAPTURE_INVALIDATED : OK; /* orders work, keeps no time */
  if (!s->capturing) e->pending_on = s;
  return submit(handle, &op);
}
Result cuEventRecord(void *e, void *stream) { ENTER; return record(e, stream, 0); }
Result cuEventRecordWithFlags(void *e, void *stream, unsigned flags) { ENTER; return record(e, stream, flags & 1); }
Result cuEventSynchronize(void *handle) { ENTER; Event *e = handle; if (e->pending_on) finish(e->pending_on); return OK; }
Result cuEventQuery(void *handle) { ENTER; Event *e = handle; if (!e->pending_on) return OK; drain(e->pending_on); return NOT_READY; }
Result cuEventElapsedTime_v2(float *ms, void *from, void *to) {
  ENTER;
  Event *a = from, *b = to;
  if (a->magic != EVENT_MAGIC || b->magic != EVENT_MAGIC || !a->recorded || !b->recorded) return INVALID_HANDLE;
  if (a->pending_on || b->pending_on) return NOT_READY;
  *ms = (float)(b->at_ms - a->at_ms);
  return OK;
}
Result cuEventElapsedTime(float *ms, void *from, void *to) { return cuEventElapsedTime_v2(ms, from, to); }

/* ── capture and graphs ───────────────────────────────────────────────────────────────────────────────────────────── */

#define GRAPHS_MOST 256
static Graph *graphs[GRAPHS_MOST];
static int is_live(const Graph *g) { for (int i = 0; i < GRAPHS_MOST; i++) if (graphs[i] == g) return 1; return 0; }
static void forget_graph(const Graph *g) { for (int i = 0; i < GRAPHS_MOST; i++) if (graphs[i] == g) graphs[i] = NULL; }

Result cuStreamBeginCapture_v2(void *handle, int mode) {
  ENTER;
  Stream *s = stream_of(handle);
  if (s == &legacy) return CAPTURE_UNSUPPORTED;
  if (s->capturing) return ILLEGAL_STATE;
  s->capturing = 1; s->invalid = 0; s->mode = mode; s->owner = pthread_self();
  capturing_streams++;
  return OK;
}
Result cuStreamEndCapture(void *handle, void **out) {
  INSIDE;
  Result early = enter("cuStreamEndCapture");
  Stream *s = stream_of(handle);
  *out = NULL;
  if (!s->capturing) return early ? early : ILLEGAL_STATE;
  if (s->mode != 2 && !pthread_equal(s->owner, pthread_self())) return CAPTURE_WRONG_THREAD;
  s->capturing = 0; /* an error ends it too */
  capturing_streams--;
  if (early || s->invalid) { empty(&s->captured); return early ? early : CAPTURE_INVALIDATED; }
  Graph *g = calloc(1, sizeof *g);
  g->magic = GRAPH_MAGIC; g->line = s->captured;
  for (int i = 0; i < GRAPHS_MOST; i++) if (!graphs[i]) { graphs[i] = g; break; }
  s->captured = (Line){0};
  *out = g;
  live[GRAPHS]++;
  return OK;
}
Result cuStreamIsCapturing(void *handle, int *status) { ENTER; Stream *s = stream_of(handle); *status = !s->capturing ? 0 : s->invalid ? 2 : 1; return OK; }
Result cuGraphGetNodes(void *graph, void **nodes, size_t *count) {
  ENTER;
  Graph *g = graph;
  if (g->magic != GRAPH_MAGIC) return INVALID_HANDLE;
  if (nodes) { size_t n = 0; for (Op *op = g->line.head; op && n < *count; op = op->next) nodes[n++] = op; }
  else *count = g->line.count;
  return OK;
}
Result cuGraphInstantiateWithFlags(void **out, void *graph, unsigned long long flags) {
  ENTER; (void)flags;
  Graph *g = graph;
  if (!g || g->magic != GRAPH_MAGIC) return INVALID_VALUE;
  Graph *e = calloc(1, sizeof *e);
  e->magic = EXEC_MAGIC; e->origin = g;
  for (Op *op = g->line.head; op; op = op->next) append(&e->line, op);
  *out = e;
  live[EXECS]++;
  return OK;
}
Result cuGraphInstantiate(void **out, void *graph, unsigned long long flags) { return cuGraphInstantiateWithFlags(out, graph, flags); }
static Result destroy(void *graph, unsigned magic, int kind) { Graph *g = graph; if (!g || g->magic != magic) return INVALID_VALUE; drain_all(); empty(&g->line); g->magic = 0; forget_graph(g); free(g); live[kind]--; return OK; }
Result cuGraphDestroy(void *graph) { ENTER; return destroy(graph, GRAPH_MAGIC, GRAPHS); }
Result cuGraphExecDestroy(void *exec) { ENTER; return destroy(exec, EXEC_MAGIC, EXECS); }
Result cuGraphLaunch(void *exec, void *stream) {
  ENTER;
  Graph *g = exec;
  if (!g || g->magic != EXEC_MAGIC) return INVALID_VALUE;
  if (stream_of(stream)->capturing) { stream_of(stream)->invalid = 1; return CAPTURE_UNSUPPORTED; }
  for (Op *op = g->line.head; op; op = op->next) if (op->kind == RECORD) ((Event *)op->thing)->pending_on = stream_of(stream);
  for (Op *op = g->line.head; op; op = op->next) /* what was pinned may have been let go since */
    if (op->kind == COPY && !op->off && block_of(op->to, op->bytes) && !block_of(op->from, op->bytes)) return INVALID_VALUE;
  Graph *launched = calloc(1, sizeof *launched); /* what is changed later is of later launches */
  for (Op *op = g->line.head; op; op = op->next) append(&launched->line, op);
  Op op = {GRAPH};
  op.thing = launched;
  return submit(stream, &op);
}

/* CUDA_MEMCPY3D, of which a copy along one line uses little; types of memory: 1 the host's, 2 the device's. */
typedef struct { size_t x, y, z, lod; unsigned type; void *host; Address device; void *array, *reserved; size_t pitch, height; } Side;
typedef struct { Side from, to; size_t width, height, depth; } Copy3D;

static Side side_of(Address at, size_t bytes) {
  Block *b = block_of(at, bytes);
  return b && b->kind == MEMORY ? (Side){.type = 2, .device = at} : (Side){.type = 1, .host = (void *)at};
}
Result cuGraphNodeGetType(void *node, int *type) {
  ENTER;
  static const int types[] = {[COPY] = 1, [FILL] = 2, [KERNEL] = 0, [HOST] = 3, [RECORD] = 7, [WAIT] = 6, [GRAPH] = 4};
  *type = types[((Op *)node)->kind];
  return OK;
}
Result cuGraphMemcpyNodeGetParams(void *node, Copy3D *out) {
  ENTER;
  Op *op = node;
  if (op->kind != COPY) return INVALID_VALUE;
  *out = (Copy3D){side_of(op->from, op->bytes), side_of(op->to, op->bytes), op->bytes, 1, 1};
  return OK;
}
Result cuGraphExecMemcpyNodeSetParams(void *exec, void *node, const Copy3D *p, void *c) {
  ENTER;
  Graph *e = exec;
  if (!e || e->magic != EXEC_MAGIC || !is_live(e->origin)) return INVALID_VALUE; /* the node must still be there */
  if (c != &context) return INVALID_CONTEXT;
  Op *mine = e->line.head;
  for (Op *op = e->origin->line.head; op && op != node; op = op->next) mine = mine->next;
  if (!mine || mine->kind != COPY || mine->off /* unknown of a real one */ || p->width == 0 || p->height != 1 || p->depth != 1) return INVALID_VALUE;
  if (p->from.type != 1 || p->from.x || p->to.type != 2 || p->to.x) return INVALID_VALUE;
  if (!block_of((Address)p->from.host, p->width) || !block_of(p->to.device, p->width)) return INVALID_VALUE;
  mine->from = (Address)p->from.host; mine->to = p->to.device; mine->bytes = p->width;
  return OK;
}
Result cuGraphNodeSetEnabled(void *exec, void *node, unsigned on) {
  ENTER;
  Graph *e = exec;
  if (!e || e->magic != EXEC_MAGIC || !is_live(e->origin)) return INVALID_VALUE;
  Op *mine = e->line.head;
  for (Op *op = e->origin->line.head; op && op != node; op = op->next) mine = mine->next;
  if (!mine || (mine->kind != COPY && mine->kind != FILL && mine->kind != KERNEL)) return INVALID_VALUE;
  mine->off = !on;
  return OK;
}
Result cuLaunchHostFunc(void *stream, void *function, void *data) { ENTER; Op op = {HOST, (Address)data}; op.thing = function; return submit(stream, &op); }

/* ── modules and kernels ──────────────────────────────────────────────────────────────────────────────────────────── */

Result cuModuleLoadData(void **out, const void *image) {
  ENTER;
  if (unsafe()) return CAPTURE_UNSUPPORTED;
  if (memcmp(image, "\x7f" "ELF", 4) != 0 && memcmp(image, "//", 2) != 0) return INVALID_IMAGE;
  *out = &module_;
  live[MODULES]++;
  return OK;
}
Result cuModuleLoadDataEx(void **out, const void *image, unsigned n, const int *options, void **values) {
  for (unsigned i = 0; i < n; i++) if (options[i] == 3 || options[i] == 5) *(char *)values[i] = 0; /* the logs; PyCUDA reads them, written or not */
  return cuModuleLoadData(out, image);
}
Result cuModuleUnload(void *m) { ENTER; (void)m; live[MODULES]--; return OK; }
Result cuModuleGetFunction(void **out, void *m, const char *name) {
  ENTER; (void)m;
  char symbol[128];
  static Function functions[256];
  static int used;
  for (int i = 0; i < LIBRARIES && kernel_libraries[i]; i++) {
    snprintf(symbol, sizeof symbol, "emu_%s", name);
    void *call = dlsym(kernel_libraries[i], symbol);
    snprintf(symbol, sizeof symbol, "emu_%s_sig", name);
    const unsigned char *sizes = dlsym(kernel_libraries[i], symbol);
    if (!call || !sizes) continue;
    for (int n = 0; n < used; n++) if (functions[n].call == call) { *out = &functions[n]; return OK; }
    if (used == 256) return OUT_OF_MEMORY;
    functions[used] = (Function){call, sizes};
    *out = &functions[used++];
    return OK;
  }
  return NOT_FOUND;
}
Result cuFuncGetAttribute(int *value, int attribute, void *f) { ENTER; (void)f; *value = attribute == 0 ? 1024 : 0; return OK; }
Result cuFuncSetCacheConfig(void *f, int config) { ENTER; (void)f; (void)config; return OK; }
Result cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream, void **parameters, void **extra) {
  ENTER; (void)shared;
  Function *f = function;
  if (!gx || !gy || !gz || !bx || !by || !bz || bx * by * bz > 1024) return INVALID_VALUE;
  char buffer[1024] = {0};
  size_t at = 0, given = 0;
  void *packed = NULL;
  for (void **e = extra; e && *e; e += 2) { if (*e == (void *)1) packed = e[1]; if (*e == (void *)2) given = *(size_t *)e[1]; }
  int n = 0;
  for (const unsigned char *size = f->sizes; *size; size++) {
    size_t align = *size == 8 ? 8 : 4;
    at = (at + align - 1) / align * align;
    if (parameters) memcpy(buffer + at, parameters[n++], *size);
    at += *size;
  }
  if (!parameters) { if (given != at) return INVALID_VALUE; memcpy(buffer, packed, given); }
  Op op = {KERNEL, .thing = f, .shape = {gx, gy, gz, bx, by, bz}, .arguments = buffer, .argument_bytes = at ? at : 1};
  return submit(stream, &op);
}

/* ── how others find the functions ────────────────────────────────────────────────────────────────────────────────── */

Result cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status) {
  (void)version; (void)flags;
  static const char *endings[] = {"_v4", "_v3", "_v2", ""};
  Dl_info here;
  dladdr((void *)cuInit, &here);
  void *self = dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  char symbol[128];
  *out = NULL;
  for (int i = 0; i < 4 && !*out; i++) { snprintf(symbol, sizeof symbol, "%s%s", name, endings[i]); *out = dlsym(self, symbol); }
  if (self) dlclose(self);
  if (status) *status = *out ? 0 : 1;
  return *out ? OK : NOT_FOUND;
}

#include "fakecuda_rest.h"
