//===- LowerToLlvm.cpp - from kernels to LLVM IR -------------------------------------------===//
//
// One conversion with one type converter. Elementary functions of f32 become polynomials on the
// way, those of f64 calls of the C library, which the process that loads the artefact provides; on
// CUDA both are calls of libdevice.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/LowerToLlvm.h"
#include "codegen/MathPolynomials.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/Pattern.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MathToLibm/MathToLibm.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"

using namespace mlir;
using namespace halfstep::codegen;

void halfstep::codegen::loadKernelDialects(MLIRContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context.appendDialectRegistry(registry);
  context.loadDialect<arith::ArithDialect, cf::ControlFlowDialect, func::FuncDialect,
                      gpu::GPUDialect, LLVM::LLVMDialect, math::MathDialect, NVVM::NVVMDialect,
                      scf::SCFDialect, vector::VectorDialect>();
}

namespace {
/// libdevice's square root is approximate unless a flag says otherwise, which LLVM does not set;
/// the intrinsic is correctly rounded.
struct ExactSqrt : ConvertOpToLLVMPattern<math::SqrtOp> {
  explicit ExactSqrt(LLVMTypeConverter &converter) : ConvertOpToLLVMPattern(converter, 2) {}
  LogicalResult matchAndRewrite(math::SqrtOp op, OpAdaptor operands,
                                ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<LLVM::SqrtOp>(op, operands.getOperand().getType(),
                                              operands.getOperand());
    return success();
  }
};
} // namespace

/// Makes library calls of the functions of f64 that LLVM has no intrinsic for.
static LogicalResult callLibrary(ModuleOp kernels) {
  RewritePatternSet patterns(kernels.getContext());
  populateMathPolynomialPatterns(patterns);
  populateMathToLibmConversionPatterns(patterns);
  ConversionTarget target(*kernels.getContext());
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  target.addIllegalOp<math::ErfOp, math::TanhOp>();
  return applyPartialConversion(kernels, target, std::move(patterns));
}

LogicalResult halfstep::codegen::lowerToLlvm(ModuleOp kernels, Functions functions) {
  MLIRContext *context = kernels.getContext();
  bool isCuda = functions != Functions::Host;
  if (!isCuda && failed(callLibrary(kernels)))
    return failure();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  LLVMTypeConverter converter(context, options);
  RewritePatternSet patterns(context);
  if (functions != Functions::Libdevice)
    populateMathPolynomialPatterns(patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateSCFToControlFlowConversionPatterns(patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  if (isCuda) {
    populateGpuToNVVMConversionPatterns(converter, patterns);
    patterns.add<ExactSqrt>(converter);
  }
  populateMathToLLVMConversionPatterns(converter, patterns);
  LLVMConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addLegalOp<ModuleOp>();
  if (isCuda) // intrinsics that NVPTX has no code for
    target.addIllegalOp<LLVM::CosOp, LLVM::ExpOp, LLVM::LogOp, LLVM::PowOp, LLVM::SinOp>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return false; });
  return applyFullConversion(kernels, target, std::move(patterns));
}

std::unique_ptr<llvm::Module> halfstep::codegen::translateToLlvmIr(ModuleOp kernels,
                                                                   llvm::LLVMContext &context,
                                                                   Functions functions) {
  if (failed(lowerToLlvm(kernels, functions)))
    return nullptr;
  return translateModuleToLLVMIR(kernels, context, "halfstep");
}
