//===- Devices.h - what devices are able to do ---------------------------------------------===//
//
// Peaks as NVIDIA's data sheets give them, without sparsity, for the SXM form of each:
//   "NVIDIA A100 Tensor Core GPU" (80 GB), "NVIDIA H100 Tensor Core GPU", "NVIDIA H200 Tensor Core
//   GPU", https://www.nvidia.com/en-us/data-center/{a100,h100,h200}/
//
//===---------------------------------------------------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_DEVICES_H
#define HALFSTEP_CODEGEN_DEVICES_H

#include "llvm/ADT/StringRef.h"

namespace halfstep::codegen {

struct Device {
  llvm::StringLiteral name;
  int capability;        ///< 80: runs what is compiled for sm_80 and before
  double bytesPerSecond; ///< of its memory
  double flopsInDouble;  ///< a second, in f64, without tensor cores
  double flops;          ///< in f32, without tensor cores
  double flopsOnTensors; ///< of 16-bit operands, accumulated in f32
};

inline constexpr Device devices[] = {{"A100", 80, 2039e9, 9.7e12, 19.5e12, 312e12},
                                     {"H100", 90, 3350e9, 34e12, 67e12, 989e12},
                                     {"H200", 90, 4800e9, 34e12, 67e12, 989e12}};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_DEVICES_H
