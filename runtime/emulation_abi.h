/* emulation_abi.h - between a CUDA kernel that was retargeted to the host and the emulator.
 *
 * An emulated kernel is one thread of the grid; the emulator calls it once for each. Whatever the
 * kernel cannot do by itself, it asks for through its thread. Plain C, printed by code generation
 * and read by the emulator, as step_abi.h is by artefact and runtime.
 */
#ifndef HALFSTEP_EMULATION_ABI_H
#define HALFSTEP_EMULATION_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hs_emulated_thread hs_emulated_thread;
struct hs_emulated_thread {
  uint32_t thread; /* threadIdx.x */
  uint32_t block;  /* blockIdx.x */
  char *shared;    /* the block's shared memory */
  /* Returns when every thread of the block is here. */
  void (*barrier)(hs_emulated_thread *self);
  /* The value that the thread whose lane number differs in the bits of `mask` gives; returns when
   * every lane of `members`, a bit each, is here with the same members. */
  uint32_t (*exchange)(hs_emulated_thread *self, uint32_t members, uint32_t value, uint32_t mask);
  /* Orders the memory accesses of the lanes that are `members`; returns when all of them are here. */
  void (*sync)(hs_emulated_thread *self, uint32_t members);
  /* Said before an access is made: `alignment` is what the instruction needs. Does not return if the
   * access is at fault. */
  void (*access)(hs_emulated_thread *self, const void *address, uint32_t bytes, uint32_t alignment,
                 uint32_t is_store);
  /* cp.async of 16 bytes to shared memory: `bytes` of them from `from`, the others zero. They are
   * there when this thread has waited for the group; before, nobody may read them. */
  void (*copy_async)(hs_emulated_thread *self, void *to, const void *from, uint32_t bytes);
  void (*commit_copies)(hs_emulated_thread *self); /* the copies since the last one are a group */
  /* Returns when at most `pending` groups are unfinished, the last ones. */
  void (*wait_for_copies)(hs_emulated_thread *self, uint32_t pending);
  /* ldmatrix of four 8x8 matrices of 16 bits, by the whole warp: lane i gives row i % 8 of matrix
   * i / 8, 16 bytes, and gets of each matrix the two elements that mma wants of it. */
  void (*load_matrices)(hs_emulated_thread *self, const void *row, uint32_t is_transposed,
                        uint32_t registers[4]);
  /* mma.m16n8k16 by the whole warp, adding to f32 sums: `operands` are the four registers of a, then
   * the two of b, of f16 or bf16. */
  void (*multiply)(hs_emulated_thread *self, const uint32_t operands[6], uint32_t is_bfloat,
                   float sums[4]);
};

/* `parameters` points to the values of the kernel's pointers. */
typedef void (*hs_emulated_kernel)(void *const *parameters, hs_emulated_thread *self);

typedef struct hs_emulated_function {
  const char *name;
  hs_emulated_kernel kernel;
  uint64_t shared_bytes; /* that it declares; a launch may give more, which lie behind */
  const char *nodes;     /* the ONNX nodes that it computes, for messages; may be null */
  /* How much it may touch behind each of its pointers; null: whatever memory is there. */
  const uint64_t *parameter_bytes;
} hs_emulated_function;

#ifdef __cplusplus
}
#endif
#endif
