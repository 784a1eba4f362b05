//===- Constants.cpp - C data as LLVM constants --------------------------------------------===//

#include "codegen/Constants.h"

using namespace llvm;
using namespace halfstep::codegen;

Constant *ConstantWriter::address(Constant *data) {
  auto *global = new GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                    GlobalValue::PrivateLinkage, data);
  global->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return global;
}

Constant *ConstantWriter::string(StringRef text) {
  Constant *&found = strings[text];
  if (!found)
    found = address(ConstantDataArray::getString(context, text));
  return found;
}

Constant *ConstantWriter::array(ArrayRef<Constant *> elements) {
  if (elements.empty())
    return null();
  auto *type = ArrayType::get(elements.front()->getType(), elements.size());
  return address(ConstantArray::get(type, elements));
}

Constant *ConstantWriter::array(ArrayRef<int64_t> numbers) {
  if (numbers.empty())
    return null();
  return address(this->numbers(numbers));
}

Constant *ConstantWriter::numbers(ArrayRef<int64_t> numbers) {
  SmallVector<uint64_t> bits(numbers.begin(), numbers.end());
  return ConstantDataArray::get(context, bits);
}
