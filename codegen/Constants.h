//===- Constants.h - C data as LLVM constants ----------------------------------------------===//

#ifndef HALFSTEP_CODEGEN_CONSTANTS_H
#define HALFSTEP_CODEGEN_CONSTANTS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

namespace halfstep::codegen {

/// Builds constants as a C compiler would lay them out.
class ConstantWriter {
public:
  explicit ConstantWriter(llvm::Module &module) : module(module), context(module.getContext()) {}

  llvm::Constant *u32(uint32_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  }
  llvm::Constant *i64(int64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value);
  }
  llvm::Constant *f64(double value) {
    return llvm::ConstantFP::get(llvm::Type::getDoubleTy(context), value);
  }
  llvm::Constant *null() {
    return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context));
  }
  llvm::Constant *structure(llvm::ArrayRef<llvm::Constant *> members) {
    return llvm::ConstantStruct::getAnon(context, members);
  }
  /// An array that is a member of a struct.
  llvm::Constant *numbers(llvm::ArrayRef<int64_t> numbers);
  /// A zero-terminated string; equal ones are one.
  llvm::Constant *string(llvm::StringRef text);
  /// The address of data of its own.
  llvm::Constant *address(llvm::Constant *data);
  /// The address of an array, or null of an empty one.
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> elements);
  llvm::Constant *array(llvm::ArrayRef<int64_t> numbers);

private:
  llvm::Module &module;
  llvm::LLVMContext &context;
  llvm::StringMap<llvm::Constant *> strings;
};

} // namespace halfstep::codegen

#endif // HALFSTEP_CODEGEN_CONSTANTS_H
