//===- RetargetToHost.cpp - CUDA kernels as functions of the host --------------------------===//
//
// The kernel's arithmetic stays what it is. What a GPU has and a CPU has not becomes a question to
// the emulator: numbers of thread and block, barriers, exchanges between lanes, shared memory.
// Every access to memory is announced, so that the emulator can check it.
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/RetargetToHost.h"
#include "runtime/emulation_abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace {
constexpr unsigned sharedSpace = 3;

class Retargeter {
public:
  explicit Retargeter(ModuleOp kernels)
      : kernels(kernels), pointer(LLVM::LLVMPointerType::get(kernels.getContext())),
        i32(IntegerType::get(kernels.getContext(), 32)) {}

  void run();

private:
  void placeSharedMemory();
  void dropAddressSpaces();
  void retarget(LLVM::LLVMFuncOp kernel);
  void replace(Operation *op);
  void replace(LLVM::CallIntrinsicOp op);
  void announce(Operation *access, Value address, Type type, unsigned alignment, bool isStore);

  /// A field of the thread.
  Value field(ImplicitLocOpBuilder &b, size_t offset, Type type) {
    auto address = b.create<LLVM::GEPOp>(pointer, b.getI8Type(), self,
                                         ArrayRef<LLVM::GEPArg>{int32_t(offset)});
    return b.create<LLVM::LoadOp>(type, address);
  }
  /// Calls the function that a field of the thread points to, with the thread before `arguments`.
  LLVM::CallOp call(ImplicitLocOpBuilder &b, size_t offset, Type result, ValueRange arguments) {
    SmallVector<Value> operands{field(b, offset, pointer), self};
    llvm::append_range(operands, arguments);
    auto type = LLVM::LLVMFunctionType::get(
        result, llvm::to_vector(ValueRange(operands).drop_front().getTypes()));
    return b.create<LLVM::CallOp>(type, operands);
  }
  Value number(ImplicitLocOpBuilder &b, int64_t value) {
    return b.create<LLVM::ConstantOp>(i32, value);
  }

  ModuleOp kernels;
  Type pointer, i32;
  llvm::DenseMap<StringAttr, int64_t> sharedOffsets; // of a kernel's shared variables
  llvm::StringMap<int64_t> sharedBytes;
  Value self;
};
} // namespace

/// Shared variables of a kernel one behind the other, in their order.
void Retargeter::placeSharedMemory() {
  DataLayout layout(kernels);
  for (auto kernel : kernels.getOps<LLVM::LLVMFuncOp>()) {
    int64_t end = 0;
    kernel.walk([&](LLVM::AddressOfOp address) {
      auto variable = kernels.lookupSymbol<LLVM::GlobalOp>(address.getGlobalName());
      if (!variable || sharedOffsets.count(variable.getSymNameAttr()))
        return;
      constexpr int64_t alignment = 16;
      sharedOffsets[variable.getSymNameAttr()] = end;
      end = llvm::alignTo(end + layout.getTypeSize(variable.getType()).getFixedValue(), alignment);
    });
    sharedBytes[kernel.getSymName()] = end;
  }
}

void Retargeter::dropAddressSpaces() {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](LLVM::LLVMPointerType) { return pointer; });
  replacer.recursivelyReplaceElementsIn(kernels, /*replaceAttrs=*/true, /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
}

void Retargeter::announce(Operation *access, Value address, Type type, unsigned alignment,
                          bool isStore) {
  ImplicitLocOpBuilder b(access->getLoc(), access);
  int64_t bytes = DataLayout(kernels).getTypeSize(type).getFixedValue();
  call(b, offsetof(hs_emulated_thread, access), LLVM::LLVMVoidType::get(b.getContext()),
       {address, number(b, bytes), number(b, alignment), number(b, isStore)});
}

void Retargeter::replace(Operation *op) {
  ImplicitLocOpBuilder b(op->getLoc(), op);
  auto replaceBy = [&](Value value) {
    if (value.getType() != op->getResult(0).getType())
      value = b.create<LLVM::BitcastOp>(op->getResult(0).getType(), value);
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
  };
  if (auto load = dyn_cast<LLVM::LoadOp>(op)) {
    announce(op, load.getAddr(), load.getType(), load.getAlignment().value_or(1), false);
  } else if (auto store = dyn_cast<LLVM::StoreOp>(op)) {
    announce(op, store.getAddr(), store.getValue().getType(), store.getAlignment().value_or(1),
             true);
  } else if (isa<NVVM::ThreadIdXOp>(op)) {
    replaceBy(field(b, offsetof(hs_emulated_thread, thread), i32));
  } else if (isa<NVVM::BlockIdXOp>(op)) {
    replaceBy(field(b, offsetof(hs_emulated_thread, block), i32));
  } else if (isa<NVVM::Barrier0Op>(op)) {
    call(b, offsetof(hs_emulated_thread, barrier), LLVM::LLVMVoidType::get(b.getContext()), {});
    op->erase();
  } else if (auto sync = dyn_cast<NVVM::SyncWarpOp>(op)) {
    call(b, offsetof(hs_emulated_thread, sync), LLVM::LLVMVoidType::get(b.getContext()),
         {sync.getMask()});
    op->erase();
  } else if (auto exchange = dyn_cast<NVVM::ShflOp>(op)) {
    Value value = exchange.getVal();
    if (value.getType() != i32)
      value = b.create<LLVM::BitcastOp>(i32, value);
    replaceBy(call(b, offsetof(hs_emulated_thread, exchange), i32,
                   {exchange.getThreadMask(), value, exchange.getOffset()})
                  .getResult());
  } else if (auto intrinsic = dyn_cast<LLVM::CallIntrinsicOp>(op)) {
    replace(intrinsic);
  } else if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
    auto at = sharedOffsets.find(address.getGlobalNameAttr().getAttr());
    if (at != sharedOffsets.end())
      replaceBy(b.create<LLVM::GEPOp>(pointer, b.getI8Type(),
                                      field(b, offsetof(hs_emulated_thread, shared), pointer),
                                      ArrayRef<LLVM::GEPArg>{int32_t(at->second)}));
  }
}

/// A warp's operations for matrix products. Registers go to and from the emulator in memory.
void Retargeter::replace(LLVM::CallIntrinsicOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), op);
  StringRef name = op.getIntrin();
  ValueRange operands = op.getOperands();
  Type none = LLVM::LLVMVoidType::get(b.getContext());
  auto memory = [&](int64_t words) -> Value {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&op->getParentOfType<LLVM::LLVMFuncOp>().getBody().front());
    return b.create<LLVM::AllocaOp>(pointer, i32, number(b, words));
  };
  auto word = [&](Value at, int32_t index) -> Value {
    return b.create<LLVM::GEPOp>(pointer, i32, at, ArrayRef<LLVM::GEPArg>{index});
  };
  auto put = [&](ValueRange values) {
    Value at = memory(values.size());
    for (auto [i, value] : llvm::enumerate(values))
      b.create<LLVM::StoreOp>(value, word(at, i));
    return at;
  };
  auto replaceByWords = [&](Value at) {
    auto type = cast<LLVM::LLVMStructType>(op.getResult(0).getType());
    Value all = b.create<LLVM::UndefOp>(type);
    for (auto [i, member] : llvm::enumerate(type.getBody()))
      all = b.create<LLVM::InsertValueOp>(all, b.create<LLVM::LoadOp>(member, word(at, i)), i);
    op.getResult(0).replaceAllUsesWith(all);
  };
  if (name.starts_with("llvm.nvvm.cp.async.cg.shared.global.16")) {
    call(b, offsetof(hs_emulated_thread, copy_async), none, operands);
  } else if (name == "llvm.nvvm.cp.async.commit.group") {
    call(b, offsetof(hs_emulated_thread, commit_copies), none, {});
  } else if (name == "llvm.nvvm.cp.async.wait.group") {
    call(b, offsetof(hs_emulated_thread, wait_for_copies), none, operands);
  } else if (name.starts_with("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4")) {
    Value registers = memory(4);
    call(b, offsetof(hs_emulated_thread, load_matrices), none,
         {operands[0], number(b, name.contains(".trans")), registers});
    replaceByWords(registers);
  } else if (name.starts_with("llvm.nvvm.mma.m16n8k16.row.col")) {
    Value sums = put(operands.drop_front(6));
    call(b, offsetof(hs_emulated_thread, multiply), none,
         {put(operands.take_front(6)), number(b, name.ends_with(".bf16")), sums});
    replaceByWords(sums);
  } else {
    llvm::report_fatal_error("an intrinsic that is not emulated: " + name);
  }
  op.erase();
}

void Retargeter::retarget(LLVM::LLVMFuncOp kernel) {
  Block &entry = kernel.getBody().front();
  ImplicitLocOpBuilder b(kernel.getLoc(), &entry, entry.begin());
  SmallVector<Operation *> body;
  kernel.walk([&](Operation *op) { body.push_back(op); });
  // The pointers come from an array now.
  unsigned count = entry.getNumArguments();
  Value parameters = entry.addArgument(pointer, kernel.getLoc());
  self = entry.addArgument(pointer, kernel.getLoc());
  for (unsigned i = 0; i < count; ++i) {
    auto address =
        b.create<LLVM::GEPOp>(pointer, pointer, parameters, ArrayRef<LLVM::GEPArg>{int32_t(i)});
    entry.getArgument(i).replaceAllUsesWith(b.create<LLVM::LoadOp>(pointer, address));
  }
  entry.eraseArguments(0, count);
  kernel.setFunctionType(
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()), {pointer, pointer}));
  kernel.removeArgAttrsAttr();
  kernel->setAttr(halfstep::codegen::kSharedBytes,
                  b.getI64IntegerAttr(sharedBytes[kernel.getSymName()]));
  for (Operation *op : body)
    replace(op);
}

void Retargeter::run() {
  placeSharedMemory();
  for (auto variable : llvm::make_early_inc_range(kernels.getOps<LLVM::GlobalOp>()))
    if (variable.getAddrSpace() == sharedSpace && sharedOffsets.count(variable.getSymNameAttr())) {
      // Its addresses are replaced below.
      variable.erase();
    }
  dropAddressSpaces();
  for (auto function : kernels.getOps<LLVM::LLVMFuncOp>()) {
    if (!function.isExternal())
      retarget(function);
    else if (function.getSymName().starts_with("__nv_")) {
      // libdevice's names are the C library's, which has the functions of f64 on the host.
      StringAttr name = StringAttr::get(kernels.getContext(), function.getSymName().drop_front(5));
      if (succeeded(SymbolTable::replaceAllSymbolUses(function, name, kernels)))
        function.setSymNameAttr(name);
    }
  }
}

void halfstep::codegen::retargetToHost(ModuleOp kernels) { Retargeter(kernels).run(); }
