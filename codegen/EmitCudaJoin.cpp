//===- EmitCudaJoin.cpp - kernels side by side ---------------------------------------------===//
//
// Members are emitted as if they were launched alone; then their bodies become the branches of one
// kernel, in which a block's number picks the member and counts from the member's first block on.
// A block executes one branch only, so that barriers stay those of all its threads, and the members
// have the same shared memory. Known as horizontal fusion (Li et al., "Automatic Horizontal Fusion
// for GPU Kernels", CGO 2022).
//
//===---------------------------------------------------------------------------------------===//

#include "codegen/CudaGroupEmitter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::codegen;

namespace {
/// A member as a kernel by itself.
struct Alone {
  func::FuncOp function;
  SmallVector<LLVM::GlobalOp> shared;
  unsigned arguments; ///< behind which its results' own buffers are
  Grid grid;
};
} // namespace

/// Emits a copy of the kernel under a name of its own: it may also be launched alone.
static FailureOr<Alone> emitAlone(OpBuilder &builder, Operation *kernel, StringRef name) {
  OpBuilder::InsertionGuard guard(builder);
  OwningOpRef<ModuleOp> holder = ModuleOp::create(kernel->getLoc());
  Operation *copy = kernel->clone();
  holder->push_back(copy);
  SymbolTable::setSymbolName(copy, name);
  Block *code = builder.getInsertionBlock();
  Operation *before = code->empty() ? nullptr : &code->back();
  builder.setInsertionPointToEnd(code);
  auto group = dyn_cast<GroupOp>(copy);
  FailureOr<Grid> grid =
      group ? emitCudaKernel(builder, group) : emitCudaKernel(builder, cast<ContractOp>(copy));
  if (failed(grid))
    return failure();
  Alone alone{{}, {}, 0, *grid};
  for (Operation *op = before ? before->getNextNode() : &code->front(); op; op = op->getNextNode())
    if (auto function = dyn_cast<func::FuncOp>(op))
      alone.function = function;
    else
      alone.shared.push_back(cast<LLVM::GlobalOp>(op));
  alone.arguments =
      group ? group.getBlock().getNumArguments() : alone.function.getNumArguments() - 1;
  return alone;
}

/// Lays the member's shared variables out from the beginning of the joined kernel's.
static int64_t placeShared(Alone &member, StringRef all) {
  DataLayout layout(member.function->getParentOfType<ModuleOp>());
  int64_t end = 0;
  for (LLVM::GlobalOp variable : member.shared) {
    member.function.walk([&](LLVM::AddressOfOp address) {
      if (address.getGlobalName() != variable.getSymName())
        return;
      OpBuilder b(address);
      Value base = b.create<LLVM::AddressOfOp>(address.getLoc(), address.getType(), all);
      address.replaceAllUsesWith(b.create<LLVM::GEPOp>(address.getLoc(), address.getType(),
                                                       b.getI8Type(), base,
                                                       ArrayRef<LLVM::GEPArg>{int32_t(end)})
                                     .getResult());
      address.erase();
    });
    end += llvm::alignTo(layout.getTypeSize(variable.getType()).getFixedValue(),
                         *variable.getAlignment());
    variable.erase();
  }
  return end;
}

FailureOr<Grid> halfstep::codegen::emitCudaKernel(OpBuilder &builder, JoinOp join) {
  OpBuilder::InsertionGuard guard(builder);
  std::string name = join.getSymName().str(), shared = name + "_shared";
  SmallVector<Alone> members;
  unsigned buffers = 0;
  int64_t sharedBytes = 0;
  for (auto [i, member] : llvm::enumerate(join.getMembers().getAsRange<FlatSymbolRefAttr>())) {
    Operation *kernel = SymbolTable::lookupNearestSymbolFrom(join, member);
    FailureOr<Alone> alone = emitAlone(builder, kernel, name + "_" + std::to_string(i));
    if (failed(alone))
      return failure();
    if (alone->grid.threads != blockThreads)
      return join.emitOpError("joins ") << member << ", whose blocks have " << alone->grid.threads
                                        << " threads, not " << blockThreads;
    buffers += alone->function.getNumArguments();
    sharedBytes = std::max(sharedBytes, placeShared(*alone, shared));
    members.push_back(*alone);
  }

  CudaBuilder b(join.getLoc(), builder);
  if (sharedBytes)
    b.create<LLVM::GlobalOp>(LLVM::LLVMArrayType::get(b.getI8Type(), sharedBytes),
                             /*isConstant=*/false, LLVM::Linkage::Internal, shared, Attribute(),
                             /*alignment=*/16, /*shared*/ 3);
  SmallVector<Value> parameters;
  b.beginKernel(name, buffers, parameters);
  ArrayRef<Value> rest(parameters);
  SmallVector<IRMapping> mappings(members.size());
  auto bind = [&](unsigned member, unsigned from, unsigned to) {
    for (unsigned i = from; i < to; ++i)
      mappings[member].map(members[member].function.getArgument(i), rest[i - from]);
    rest = rest.drop_front(to - from);
  };
  for (auto [i, member] : llvm::enumerate(members))
    bind(i, 0, member.arguments);
  for (auto [i, member] : llvm::enumerate(members))
    bind(i, member.arguments, member.function.getNumArguments());

  Value block = b.block();
  int64_t first = 0;
  for (auto [mapping, member] : llvm::zip(mappings, members)) {
    Value own = b.create<arith::SubIOp>(block, b.constant(b.getI32Type(), first));
    b.when(b.isBelow(own, member.grid.blocks), [&, &mapping = mapping, &member = member] {
      member.function.walk([&](NVVM::BlockIdXOp number) { mapping.map(number.getResult(), own); });
      for (Operation &op : member.function.getBody().front().without_terminator())
        if (!isa<NVVM::BlockIdXOp>(op))
          b.clone(op, mapping);
    });
    first += member.grid.blocks;
    member.function.erase();
  }
  return Grid{first, blockThreads};
}
