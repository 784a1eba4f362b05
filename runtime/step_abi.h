/* step_abi.h - the whole contract between a compiled artefact and the runtime.
 *
 * An artefact is data: constant tables plus kernels, in one shared object that exports exactly one
 * symbol, `halfstep_query`. Code generation prints these structs as constants; the runtime walks
 * them. Neither side knows anything else of the other. Plain C, so that any host language can read
 * it. Every change of a struct here raises HALFSTEP_ABI_VERSION.
 *
 * Memory is three kinds of buffers: 0 is persistent state (parameters, gradients, optimizer state,
 * counters, records), 1 is the arena (activations and workspaces, meaningless between programs),
 * 2 + i is whichever of the staging slots of `inputs[i]` is bound. All offsets are multiples of 64 bytes for tensors that
 * own their slice; every address in a step is `buffer base + offset`, fixed at compile time.
 */
#ifndef HALFSTEP_STEP_ABI_H
#define HALFSTEP_STEP_ABI_H

#include "emulation_abi.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HALFSTEP_ABI_VERSION 9u

/* Storage types. HS_BOOL is one byte, 0 or 1. */
typedef enum hs_type {
  HS_F32 = 0,
  HS_F64 = 1,
  HS_F16 = 2,
  HS_BF16 = 3,
  HS_BOOL = 4,
  HS_I8 = 5,
  HS_U8 = 6,
  HS_I32 = 7,
  HS_I64 = 8
} hs_type;

enum { HS_BUFFER_STATE = 0, HS_BUFFER_ARENA = 1, HS_BUFFER_INPUTS = 2 };

typedef struct hs_slice {
  uint64_t buffer;
  uint64_t offset; /* bytes */
  uint64_t bytes;
} hs_slice;

/* What a named tensor is for. The runtime acts on roles; it knows the names of records and of three
 * counters: "iteration", and "epoch" and "seed", which it sets where the step has them. */
typedef enum hs_role {
  HS_PARAMETER = 0,      /* a weight under its ONNX name: initialised from the payload, checkpointed */
  HS_OPTIMIZER = 1,      /* "SLOT/PARAMETER", e.g. "exp_avg/fc.weight": checkpointed */
  HS_COUNTER = 2,        /* scalar state, f64, e.g. "iteration"; "seed", i64: checkpointed */
  HS_HYPERPARAMETER = 3, /* f64 scalar with a compiled default, e.g. "lr": settable, checkpointed */
  HS_GRADIENT = 4,       /* the gradient of the parameter of the same name */
  HS_RECORD = 5,         /* f64[64]: one field of the metrics ring, row = iteration mod 64 */
  HS_INPUT = 6,          /* a graph input: its own buffer */
  HS_LABEL = 7,          /* the label: its own buffer */
  HS_OUTPUT = 8,         /* a graph output: valid in the arena after `infer` */
  HS_METRIC = 9,         /* f32 or f64 scalar, valid in the arena after `evaluate`: "loss", ... */
  HS_HALF_COPY = 10      /* the 16-bit copy of a parameter, derived by `init`, never stored */
} hs_role;

/* What a hyperparameter may be set to: smallest <= value <= largest. */
typedef struct hs_range {
  double smallest, largest;
  const char *requirement; /* for messages: "must not be negative" */
} hs_range;

typedef struct hs_tensor {
  const char *name;
  uint32_t role; /* hs_role */
  uint32_t type; /* hs_type */
  uint32_t rank;
  uint32_t trainable;     /* parameters: 1 if the optimizer updates it */
  const int64_t *shape;   /* rank numbers; row-major */
  hs_slice slice;
  double initial;         /* hyperparameters: the compiled default */
  int64_t class_count;    /* labels of class ids: values must lie in [0, class_count); else 0 */
  int64_t ignored_class;  /* a class id that is valid although outside that range; else INT64_MIN */
  uint32_t file_type;     /* hs_type; outputs: what the model's file declares, which holds `type` */
  const hs_range *range;  /* hyperparameters; null: any finite number, and others */
} hs_tensor;

/* A range kernel: does units [lo, hi) of its work on `buffers`, in the order of the entry's slices.
 * Any split of [0, units) into ranges, run in any order or at once, gives the same bits. */
typedef void (*hs_kernel)(void *const *buffers, int64_t lo, int64_t hi);

typedef enum hs_entry_kind {
  HS_LAUNCH = 0, /* detail: hs_launch; slices: the kernel's buffers */
  HS_GEMM = 1,   /* detail: hs_gemm; slices: a, b, bias if it has one, c, workspace if any */
  HS_COPY = 2,   /* no detail; slices: destination, source; the same size */
  HS_FILL = 3,   /* no detail; slices: destination, set to zero bytes */
  HS_CONV = 4,   /* detail: hs_conv; slices: see hs_conv_kind */
  HS_POOL = 5,   /* detail: hs_pool; slices: see hs_pool_kind */
  HS_GRID = 6    /* detail: hs_grid; slices: the kernel's buffers */
} hs_entry_kind;

typedef struct hs_launch {
  hs_kernel kernel;
  int64_t units;
  int64_t grain; /* units worth one task: below 2 * grain the work stays on the calling thread */
} hs_launch;

/* A launch of a CUDA kernel, whose parameters are the addresses of the slices. Grid and block are
 * one-dimensional. */
typedef struct hs_grid {
  const char *function; /* of the artefact's CUDA code */
  uint32_t blocks, threads;
} hs_grid;

/* c[i] = op(a[i]) op(b[i]) + bias for i in [0, batch); row-major; strides in elements; a batch
 * stride of 0 repeats one matrix. The bias is a vector of n elements of c's type, added to each row.
 * Sums are in f32 (f64 for f64), the bias joins at their end, and c is rounded once. */
typedef struct hs_gemm {
  uint32_t a_type, b_type, c_type; /* hs_type */
  uint32_t transpose_a, transpose_b;
  uint32_t has_bias;
  int64_t batch, m, n, k;
  int64_t a_stride, b_stride, c_stride; /* from one matrix of the batch to the next */
  int64_t lda, ldb, ldc;                /* from one stored row to the next */
} hs_gemm;

/* A window that slides over three spatial dimensions, of which missing ones come first and have
 * size 1: output o reads input o * stride - pad + k * dilation for each k below kernel, where that
 * is below input. */
typedef struct hs_window {
  int64_t kernel[3], stride[3], dilation[3], pad[3];
  int64_t input[3], output[3];
} hs_window;

/* Convolutions in groups; x is [batch, groups * input_channels, input...], w is [groups *
 * output_channels, input_channels, kernel...], y is [batch, groups * output_channels, output...];
 * or channels are the last dimension of all three. Accumulate in f32 (f64 for f64). */
typedef enum hs_conv_kind {
  HS_CONV_FORWARD = 0,        /* slices: x, w, y */
  HS_CONV_INPUT_GRADIENT = 1, /* slices: dy, w, dx */
  HS_CONV_WEIGHT_GRADIENT = 2 /* slices: dy, x, dw: `parts` partial sums, each of the shape of w */
} hs_conv_kind;

typedef struct hs_conv {
  uint32_t kind;                                          /* hs_conv_kind */
  uint32_t a_type, b_type, c_type;                        /* hs_type, in the order of the slices */
  uint32_t channels_last;
  int64_t batch, groups, input_channels, output_channels; /* channels of one group */
  int64_t parts;
  hs_window window;
} hs_conv;

/* Pooling; x is [batch, channels, input...], y is [batch, channels, output...], or channels are the
 * last dimension of both. A maximum is NaN if a number under the window is; its adjoint goes to the first maximum.
 * An average is over the points under the window that lie in x or in padding that counts. */
typedef enum hs_pool_kind {
  HS_POOL_MAX = 0,             /* slices: x, y */
  HS_POOL_AVERAGE = 1,         /* slices: x, y */
  HS_POOL_MAX_GRADIENT = 2,    /* slices: x, dy, dx */
  HS_POOL_AVERAGE_GRADIENT = 3 /* slices: dy, dx */
} hs_pool_kind;

typedef struct hs_pool {
  uint32_t kind; /* hs_pool_kind */
  uint32_t type; /* hs_type of all slices */
  uint32_t channels_last;
  int64_t batch, channels;
  hs_window window;
  int64_t counted_front[3], counted_behind[3]; /* padding that counts */
} hs_pool;

/* What an entry does with a slice. A value that is computed in place is read and written. */
typedef struct hs_use {
  uint32_t type; /* hs_type */
  uint32_t is_read, is_written;
  uint32_t is_gradient; /* it holds a value of the backward pass then, which the loss scale scales */
} hs_use;

typedef struct hs_entry {
  uint32_t kind; /* hs_entry_kind */
  uint32_t slice_count;
  const hs_slice *slices;
  const void *detail;
  const char *name;  /* of the kernel or call, for reports */
  const char *nodes; /* the ONNX nodes it computes, separated by ", " */
  const hs_use *uses; /* of the slices, in their order; for checks, not for execution */
} hs_entry;

typedef enum hs_program_kind {
  HS_INIT = 0,     /* derives what is never stored (16-bit copies); run after state is loaded */
  HS_MICRO = 1,    /* forward and backward of one micro-batch */
  HS_UPDATE = 2,   /* the optimizer; writes one row of the records, advances the counters */
  HS_EVALUATE = 3, /* evaluation-mode forward, loss and metrics */
  HS_INFER = 4,    /* evaluation-mode forward */
  HS_PROGRAM_COUNT = 5
} hs_program_kind;

typedef struct hs_program {
  uint64_t entry_count;
  const hs_entry *entries;
} hs_program;

/* What the entries HS_GRID launch. */
typedef struct hs_cuda_code {
  const char *architecture; /* "sm_80": the least that a device must be */
  const char *ptx;
  uint64_t has_emulation;   /* 1: all functions of `ptx` come retargeted to the host too */
  uint64_t emulated_count;  /* a step of library calls alone has none */
  const hs_emulated_function *emulated;
} hs_cuda_code;

typedef struct hs_artefact {
  uint32_t abi_version;
  uint32_t input_count;
  uint64_t tensor_count;
  const hs_tensor *inputs;  /* graph inputs in their order, then the label if there is one */
  const hs_tensor *tensors; /* everything else that has a name */
  uint64_t state_bytes, arena_bytes;
  uint64_t scratch_bytes;   /* of each thread: the most that an entry needs (Scratch.h) */
  uint64_t input_slots;     /* how many batches of each input the host may hold at a time */
  uint64_t micro_batches;   /* `micro` runs this often for one `update` (--accumulate) */
  const char *recipe;       /* JSON: how it was compiled */
  const char *graph_hash;   /* of the model's graph and parameter shapes, hexadecimal */
  const char *cpu_features; /* comma-separated names that the running CPU must have */
  const hs_cuda_code *cuda; /* null: the programs are the CPU's; else those of a CUDA device */
  hs_program programs[HS_PROGRAM_COUNT];
} hs_artefact;

/* The one exported symbol of an artefact; NULL when it cannot speak `version`. */
typedef const hs_artefact *(*halfstep_query_function)(uint32_t version);
#define HALFSTEP_QUERY_SYMBOL "halfstep_query"

#ifdef __cplusplus
}
#endif
#endif
