//===- OneDnn.cpp - Matrix products by oneDNN -------------------------------------------------===//
//
// oneDNN through its C interface (version 3).
//
// https://oneapi-src.github.io/oneDNN/dev_guide_matmul.html
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/OneDnn.h"

#include "runtime/Error.h"
#include "runtime/Library.h"
#include "runtime/ThreadPool.h"
#include "runtime/Types.h"

#include <algorithm>
#include <cassert>
#include <oneapi/dnnl/dnnl.h>

namespace halfstep::runtime {

//===------------------------------------------------------------------------------------------===//
// The library
//===------------------------------------------------------------------------------------------===//

#define ONEDNN_FUNCTIONS(DO)                                                                       \
  DO(dnnl_engine_create)                                                                           \
  DO(dnnl_stream_create)                                                                           \
  DO(dnnl_stream_destroy)                                                                          \
  DO(dnnl_memory_desc_create_with_strides)                                                         \
  DO(dnnl_memory_desc_destroy)                                                                     \
  DO(dnnl_memory_desc_get_size)                                                                    \
  DO(dnnl_memory_create)                                                                           \
  DO(dnnl_memory_destroy)                                                                          \
  DO(dnnl_memory_set_data_handle)                                                                  \
  DO(dnnl_primitive_attr_create)                                                                   \
  DO(dnnl_primitive_attr_destroy)                                                                  \
  DO(dnnl_primitive_attr_set_scratchpad_mode)                                                      \
  DO(dnnl_matmul_primitive_desc_create)                                                            \
  DO(dnnl_primitive_desc_query_md)                                                                 \
  DO(dnnl_primitive_desc_destroy)                                                                  \
  DO(dnnl_primitive_create)                                                                        \
  DO(dnnl_primitive_destroy)                                                                       \
  DO(dnnl_primitive_execute)

namespace {

struct Functions {
#define DECLARE(NAME) decltype(::NAME) *NAME;
  ONEDNN_FUNCTIONS(DECLARE)
#undef DECLARE
  dnnl_engine_t engine;
  const OpenMP *openMP;
};

// oneDNN plans for as many threads as OpenMP would use; while this lives, for the calling one
// alone.
class OnOneThread {
public:
  explicit OnOneThread(const OpenMP &openMP) : openMP(openMP), threads(openMP.maxThreads()) {
    openMP.setThreads(1);
  }
  ~OnOneThread() { openMP.setThreads(threads); }

private:
  const OpenMP &openMP;
  int threads;
};

} // namespace

static Functions load() {
  // libgomp first, so that it is loaded with our choice of waiting.
  Functions functions;
  functions.openMP = OpenMP::get();
  static Library library("libdnnl.so.3");
  bool complete = functions.openMP != nullptr;
#define RESOLVE(NAME) complete &= library.resolve(#NAME, functions.NAME);
  ONEDNN_FUNCTIONS(RESOLVE)
#undef RESOLVE
  if (!complete)
    throw Error("libdnnl.so.3", "the plan has matrix products for oneDNN 3, which cannot be loaded")
        .detail(!functions.openMP    ? "libgomp.so.1 is missing"
                : library.isLoaded() ? "it is not complete"
                                     : library.reason())
        .help("compile with --bundle DIR, which puts it beside the program, or install oneDNN 3 "
              "and libgomp");
  if (functions.dnnl_engine_create(&functions.engine, dnnl_cpu, 0) != dnnl_success)
    throw Error("libdnnl.so.3", "oneDNN has no CPU engine");
  return functions;
}

static const Functions &dnnl() {
  static const Functions functions = load();
  return functions;
}

OneDnn::OneDnn(int workers) {
  streams.resize(size_t(workers));
  for (dnnl_stream *&stream : streams)
    if (dnnl().dnnl_stream_create(&stream, dnnl().engine, dnnl_stream_default_flags) !=
        dnnl_success)
      throw Error("libdnnl.so.3", "oneDNN cannot create a stream");
}

OneDnn::~OneDnn() {
  for (dnnl_stream *stream : streams)
    dnnl().dnnl_stream_destroy(stream);
}

void OneDnn::reserveScratch(uint64_t bytes) {
  if (memory && bytes <= scratchBytes)
    return;
  scratchBytes = (bytes + 4095) / 4096 * 4096;
  memory = std::make_unique<Memory>("oneDNN", scratchBytes * streams.size());
}

//===------------------------------------------------------------------------------------------===//
// Products
//===------------------------------------------------------------------------------------------===//

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

static dnnl_data_type_t dataType(uint32_t type) {
  switch (type) {
  case HS_F32:
    return dnnl_f32;
  case HS_F16:
    return dnnl_f16;
  case HS_BF16:
    return dnnl_bf16;
  default:
    return dnnl_data_type_undef;
  }
}

// The primitive for one size of block, and for each worker the objects that carry its pointers: of
// a, b, c and the scratch memory.
struct OneDnnGemm::Shape {
  using Arguments = std::array<dnnl_exec_arg_t, 4>;

  /// Leaves `primitive` null where oneDNN has none.
  Shape(OneDnn &oneDnn, const hs_gemm &gemm, GemmBlock block, int workerCount);
  ~Shape();

  dnnl_primitive_t primitive = nullptr;
  std::vector<Arguments> workers;
};

static dnnl_memory_t emptyMemory(const_dnnl_memory_desc_t description) {
  dnnl_memory_t memory = nullptr;
  dnnl().dnnl_memory_create(&memory, description, dnnl().engine, DNNL_MEMORY_NONE);
  return memory;
}

// A batch of matrices in memory; transposed, a matrix is stored column by column.
static dnnl_memory_desc_t describeMatrices(uint32_t type, int64_t batch, int64_t batchStride,
                                           int64_t rows, int64_t columns, int64_t leading,
                                           bool transposed) {
  // One matrix for the whole batch is a dimension of size 1, which oneDNN broadcasts.
  dnnl_dims_t extents = {batchStride == 0 ? 1 : batch, rows, columns};
  dnnl_dims_t strides = {batchStride == 0 ? rows * columns : batchStride, transposed ? 1 : leading,
                         transposed ? leading : 1};
  dnnl_memory_desc_t result = nullptr;
  dnnl().dnnl_memory_desc_create_with_strides(&result, 3, extents, dataType(type), strides);
  return result;
}

OneDnnGemm::Shape::Shape(OneDnn &oneDnn, const hs_gemm &gemm, GemmBlock block, int workerCount)
    : workers(size_t(workerCount)) {
  dnnl_memory_desc_t a = describeMatrices(gemm.a_type, block.batch, gemm.a_stride, block.rows,
                                          gemm.k, gemm.lda, gemm.transpose_a);
  dnnl_memory_desc_t b = describeMatrices(gemm.b_type, block.batch, gemm.b_stride, gemm.k,
                                          block.columns, gemm.ldb, gemm.transpose_b);
  dnnl_memory_desc_t c = describeMatrices(gemm.c_type, block.batch, gemm.c_stride, block.rows,
                                          block.columns, gemm.ldc, false);
  dnnl_primitive_attr_t attributes = nullptr;
  dnnl().dnnl_primitive_attr_create(&attributes);
  dnnl().dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);

  OnOneThread guard(*dnnl().openMP);
  dnnl_primitive_desc_t plan = nullptr;
  dnnl().dnnl_matmul_primitive_desc_create(&plan, dnnl().engine, a, b, nullptr, c, attributes);
  if (plan) {
    dnnl().dnnl_primitive_create(&primitive, plan);
    const_dnnl_memory_desc_t scratch =
        dnnl().dnnl_primitive_desc_query_md(plan, dnnl_query_scratchpad_md, 0);
    oneDnn.reserveScratch(dnnl().dnnl_memory_desc_get_size(scratch));
    for (Arguments &worker : workers)
      worker = {{{DNNL_ARG_SRC, emptyMemory(a)},
                 {DNNL_ARG_WEIGHTS, emptyMemory(b)},
                 {DNNL_ARG_DST, emptyMemory(c)},
                 {DNNL_ARG_SCRATCHPAD, emptyMemory(scratch)}}};
    dnnl().dnnl_primitive_desc_destroy(plan);
  }
  dnnl().dnnl_primitive_attr_destroy(attributes);
  for (dnnl_memory_desc_t description : {a, b, c})
    dnnl().dnnl_memory_desc_destroy(description);
}

OneDnnGemm::Shape::~Shape() {
  for (const Arguments &worker : workers)
    for (const dnnl_exec_arg_t &argument : worker)
      dnnl().dnnl_memory_destroy(argument.memory);
  dnnl().dnnl_primitive_destroy(primitive);
}

static std::string typeName(uint32_t type) { return std::string(safetensorsName(hs_type(type))); }

OneDnnGemm::OneDnnGemm(OneDnn &oneDnn, const hs_gemm &gemm)
    : oneDnn(oneDnn), gemm(gemm), block(chooseGemmBlock(gemm)),
      batchBlocks(ceilDiv(gemm.batch, block.batch)), rowBlocks(ceilDiv(gemm.m, block.rows)),
      columnBlocks(ceilDiv(gemm.n, block.columns)) {
  // The size of the last block of a dimension; the others are whole.
  auto last = [](int64_t extent, int64_t size) {
    return extent - (ceilDiv(extent, size) - 1) * size;
  };
  GemmBlock lastBlock{last(gemm.batch, block.batch), last(gemm.m, block.rows),
                      last(gemm.n, block.columns)};
  int workers = int(std::min<int64_t>(oneDnn.workers(), units()));
  for (size_t i = 0; i < shapes.size(); ++i) {
    bool hasWholeBlocks =
        (i & 4 || batchBlocks > 1) && (i & 2 || rowBlocks > 1) && (i & 1 || columnBlocks > 1);
    if (!hasWholeBlocks)
      continue;
    GemmBlock size{i & 4 ? lastBlock.batch : block.batch, i & 2 ? lastBlock.rows : block.rows,
                   i & 1 ? lastBlock.columns : block.columns};
    shapes[i] = std::make_unique<Shape>(oneDnn, gemm, size, workers);
    if (!shapes[i]->primitive)
      throw Error("", "oneDNN has no product of " + typeName(gemm.a_type) + " and " +
                          typeName(gemm.b_type) + " into " + typeName(gemm.c_type) +
                          " on this CPU");
  }
}

OneDnnGemm::~OneDnnGemm() = default;

const OneDnnGemm::Shape &OneDnnGemm::shape(bool isLastBatch, bool isLastRow,
                                           bool isLastColumn) const {
  return *shapes[size_t(isLastBatch * 4 + isLastRow * 2 + isLastColumn)];
}

void OneDnnGemm::run(void *const *buffers, int64_t lo, int64_t hi) {
  auto *self = static_cast<const OneDnnGemm *>(buffers[3]);
  OnOneThread guard(*dnnl().openMP);
  for (int64_t index = lo; index < hi; ++index)
    self->runBlock(static_cast<const char *>(buffers[0]), static_cast<const char *>(buffers[1]),
                   static_cast<char *>(buffers[2]), index, ThreadPool::workerIndex());
}

void OneDnnGemm::runBlock(const char *a, const char *b, char *c, int64_t index, int worker) const {
  int64_t column = index % columnBlocks, row = index / columnBlocks % rowBlocks;
  int64_t batch = index / columnBlocks / rowBlocks;
  const Shape &part =
      shape(batch == batchBlocks - 1, row == rowBlocks - 1, column == columnBlocks - 1);
  batch *= block.batch, row *= block.rows, column *= block.columns;

  const Shape::Arguments &arguments = part.workers[size_t(worker)];
  auto place = [&](int argument, const char *base, int64_t elements, uint32_t type) {
    const char *address = base + elements * int64_t(elementBytes(hs_type(type)));
    dnnl().dnnl_memory_set_data_handle(arguments[size_t(argument)].memory,
                                       const_cast<char *>(address));
  };
  place(0, a, batch * gemm.a_stride + row * (gemm.transpose_a ? 1 : gemm.lda), gemm.a_type);
  place(1, b, batch * gemm.b_stride + column * (gemm.transpose_b ? gemm.ldb : 1), gemm.b_type);
  place(2, c, batch * gemm.c_stride + row * gemm.ldc + column, gemm.c_type);
  place(3, oneDnn.scratch(worker), 0, HS_I8);

  [[maybe_unused]] dnnl_status_t status = dnnl().dnnl_primitive_execute(
      part.primitive, oneDnn.stream(worker), int(arguments.size()), arguments.data());
  assert(status == dnnl_success && "a primitive that was created runs on valid pointers");
}

} // namespace halfstep::runtime
