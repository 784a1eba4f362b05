//===- WarpOperations.cpp - What warps do for matrix products ---------------------------------===//
//
// Copies that a kernel does not wait for happen as late as they can: when it waits. Until then the
// place that they go to counts as never written.
//
// A lane's elements of the matrices are PTX's (Parallel Thread Execution ISA, mma.m16n8k16 and
// ldmatrix): lane 4 r + c has columns 2 c and 2 c + 1 of row r of an 8x8 matrix.
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/Half.h"
#include "runtime/emulator/GridRun.h"

#include <algorithm>
#include <cstring>

namespace halfstep::runtime {

static constexpr uint32_t copyBytes = 16, rowBytes = 16;

void GridRun::setWarpOperations(Thread &thread) {
  thread.copy_async = [](hs_emulated_thread *self, void *to, const void *from, uint32_t bytes) {
    of(self).grid->copyAsync(of(self), to, from, bytes);
  };
  thread.commit_copies = [](hs_emulated_thread *self) { ++of(self).copyGroup; };
  thread.wait_for_copies = [](hs_emulated_thread *self, uint32_t pending) {
    of(self).grid->waitForCopies(of(self), pending);
  };
  thread.load_matrices = [](hs_emulated_thread *self, const void *row, uint32_t isTransposed,
                            uint32_t registers[4]) {
    of(self).grid->loadMatrices(of(self), row, isTransposed,
                                *reinterpret_cast<uint32_t(*)[4]>(registers));
  };
  thread.multiply = [](hs_emulated_thread *self, const uint32_t operands[6], uint32_t isBfloat,
                       float sums[4]) {
    of(self).grid->multiply(of(self), operands, isBfloat, *reinterpret_cast<float(*)[4]>(sums));
  };
}

void GridRun::copyAsync(Thread &thread, void *to, const void *from, uint32_t bytes) {
  if (bytes)
    checkAccess(thread, from, bytes, copyBytes, /*isStore=*/false);
  checkAccess(thread, to, copyBytes, copyBytes, /*isStore=*/true);
  if (!isShared(uintptr_t(to))) {
    problem = "copies to memory that is not shared";
    thread.fiber.wait();
  }
  sharedWritten.unset(uintptr_t(to) - uintptr_t(shared->data()), copyBytes);
  thread.copies.push_back({to, from, bytes, thread.copyGroup});
}

void GridRun::waitForCopies(Thread &thread, uint32_t pending) {
  auto isPending = [&](const PendingCopy &copy) {
    return copy.group + pending >= thread.copyGroup;
  };
  auto end = thread.copies.begin();
  for (; end != thread.copies.end() && !isPending(*end); ++end) {
    checkAccess(thread, end->to, copyBytes, copyBytes, /*isStore=*/true);
    std::memset(end->to, 0, copyBytes);
    std::memcpy(end->to, end->from, end->bytes);
  }
  thread.copies.erase(thread.copies.begin(), end);
}

void GridRun::give(Thread &thread, const uint32_t *registers, size_t count) {
  std::copy_n(registers, count, thread.registers[thread.turn].begin());
  thread.turn ^= 1;
  thread.exchange(&thread, ~uint32_t(0), 0, 0);
}

void GridRun::loadMatrices(Thread &thread, const void *row, bool isTransposed,
                           uint32_t (&registers)[4]) {
  checkAccess(thread, row, rowBytes, rowBytes, /*isStore=*/false);
  give(thread, static_cast<const uint32_t *>(row), 4);
  uint32_t lane = thread.thread % lanes, first = lane / 4, second = lane % 4;
  auto element = [&](uint32_t matrix, uint32_t row, uint32_t column) {
    return given(thread, matrix * 8 + row)[column / 2] >> column % 2 * 16 & 0xffff;
  };
  for (uint32_t matrix = 0; matrix < 4; ++matrix)
    registers[matrix] =
        isTransposed
            ? element(matrix, 2 * second, first) | element(matrix, 2 * second + 1, first) << 16
            : element(matrix, first, 2 * second) | element(matrix, first, 2 * second + 1) << 16;
}

/// A device adds up in an order of its own, which is not documented; here the sixteen products are
/// exact, as is, nearly, their sum in f64, which is rounded once.
void GridRun::multiply(Thread &thread, const uint32_t *operands, bool isBfloat, float (&sums)[4]) {
  give(thread, operands, 6);
  auto widen = [&](uint32_t pair, uint32_t half) -> double {
    auto bits = uint16_t(pair >> half * 16);
    return isBfloat ? bfloatToFloat(bits) : halfToFloat(bits);
  };
  uint32_t lane = thread.thread % lanes;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t row = lane / 4, isLower = i / 2, column = lane % 4 * 2 + i % 2;
    double sum = sums[i];
    for (uint32_t k = 0; k < 16; ++k) {
      uint32_t isFar = k / 8, pair = k % 8 / 2;
      sum += widen(given(thread, row * 4 + pair)[isLower + 2 * isFar], k % 2) *
             widen(given(thread, column * 4 + pair)[4 + isFar], k % 2);
    }
    sums[i] = float(sum);
  }
}

} // namespace halfstep::runtime
