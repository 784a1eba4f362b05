//===- CudaConvKernels.h - the grid kernels of convolutions --------------------------------===//

#ifndef HALFSTEP_CODEGEN_CUDACONVKERNELS_H
#define HALFSTEP_CODEGEN_CUDACONVKERNELS_H

#include "codegen/CudaConvProduct.h"

namespace halfstep::codegen {

/// Whether tensor cores have the types, and 128-bit accesses the channels.
bool isForTensorCores(const hs_conv &conv);
Grid emitOnTensorCores(ConvProduct &product, llvm::StringRef name);

/// Whether each group has one input channel.
bool isDepthwise(const hs_conv &conv);
Grid emitDepthwise(CudaBuilder &b, const hs_conv &conv, table::ConvOp op, llvm::StringRef name);

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CUDACONVKERNELS_H
