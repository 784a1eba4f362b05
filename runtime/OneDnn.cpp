//===- OneDnn.cpp - oneDNN, one thread at a time ----------------------------------------------===//
//
// oneDNN through its C interface (version 3).
//
// https://oneapi-src.github.io/oneDNN/dev_guide_matmul.html
//
//===------------------------------------------------------------------------------------------===//

#include "runtime/OneDnn.h"

#include "runtime/Error.h"
#include "runtime/Library.h"
#include "runtime/SignalStack.h"
#include "runtime/ThreadPool.h"
#include "runtime/Types.h"

#include <cassert>
#include <oneapi/dnnl/dnnl.h>
#include <string_view>

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
  DO(dnnl_primitive_attr_set_post_ops)                                                             \
  DO(dnnl_post_ops_create)                                                                         \
  DO(dnnl_post_ops_append_sum)                                                                     \
  DO(dnnl_post_ops_destroy)                                                                        \
  DO(dnnl_matmul_primitive_desc_create)                                                            \
  DO(dnnl_primitive_desc_query)                                                                    \
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
};

} // namespace

static Functions load() {
  // libgomp first, so that it is loaded with our choice of waiting.
  Functions functions;
  const OpenMP *openMP = OpenMP::get();
  static Library library("libdnnl.so.3");
  bool complete = openMP != nullptr;
#define RESOLVE(NAME) complete &= library.resolve(#NAME, functions.NAME);
  ONEDNN_FUNCTIONS(RESOLVE)
#undef RESOLVE
  if (!complete)
    throw Error("libdnnl.so.3", "the plan has work for oneDNN 3, which cannot be loaded")
        .detail(!openMP              ? "libgomp.so.1 is missing"
                : library.isLoaded() ? "it is not complete"
                                     : library.reason())
        .help("put libdnnl.so.3 of oneDNN 3 beside the program, or install it, and libgomp");
  if (functions.dnnl_engine_create(&functions.engine, dnnl_cpu, 0) != dnnl_success)
    throw Error("libdnnl.so.3", "oneDNN has no CPU engine");
  return functions;
}

static const Functions &dnnl() {
  static const Functions functions = load();
  return functions;
}

OneDnn::OneDnn(int workers) : scratch(workers), streams(size_t(workers)) {
  for (dnnl_stream *&stream : streams)
    if (dnnl().dnnl_stream_create(&stream, dnnl().engine, dnnl_stream_default_flags) !=
        dnnl_success)
      throw Error("libdnnl.so.3", "oneDNN cannot create a stream");
}

OneDnn::~OneDnn() {
  for (dnnl_stream *stream : streams)
    dnnl().dnnl_stream_destroy(stream);
}

OnOneThread::OnOneThread() : threads(OpenMP::get()->maxThreads()) {
  provideSignalStack();
  OpenMP::get()->setThreads(1);
}
OnOneThread::~OnOneThread() { OpenMP::get()->setThreads(threads); }

//===------------------------------------------------------------------------------------------===//
// Products
//===------------------------------------------------------------------------------------------===//

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

static std::string typeName(uint32_t type) { return std::string(safetensorsName(hs_type(type))); }

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

namespace {

// The plan of a product and what it is made from.
struct Plan {
  Plan(const hs_gemm &gemm, bool accumulate);
  Plan(const Plan &) = delete;
  Plan &operator=(const Plan &) = delete;
  ~Plan();

  bool isSupported() const;

  dnnl_memory_desc_t a, b, c, bias = nullptr;
  dnnl_primitive_attr_t attributes = nullptr;
  dnnl_primitive_desc_t plan = nullptr; // null where oneDNN has none
};

} // namespace

Plan::Plan(const hs_gemm &gemm, bool accumulate)
    : a(describeMatrices(gemm.a_type, gemm.batch, gemm.a_stride, gemm.m, gemm.k, gemm.lda,
                         gemm.transpose_a)),
      b(describeMatrices(gemm.b_type, gemm.batch, gemm.b_stride, gemm.k, gemm.n, gemm.ldb,
                         gemm.transpose_b)),
      c(describeMatrices(gemm.c_type, gemm.batch, gemm.c_stride, gemm.m, gemm.n, gemm.ldc, false)) {
  if (gemm.has_bias)
    bias = describeMatrices(gemm.c_type, 1, 0, 1, gemm.n, gemm.n, false);
  dnnl().dnnl_primitive_attr_create(&attributes);
  dnnl().dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
  if (accumulate) {
    dnnl_post_ops_t operations = nullptr;
    dnnl().dnnl_post_ops_create(&operations);
    dnnl().dnnl_post_ops_append_sum(operations, 1, 0, dnnl_data_type_undef);
    dnnl().dnnl_primitive_attr_set_post_ops(attributes, operations);
    dnnl().dnnl_post_ops_destroy(operations);
  }
  OnOneThread guard;
  dnnl().dnnl_matmul_primitive_desc_create(&plan, dnnl().engine, a, b, bias, c, attributes);
}

Plan::~Plan() {
  dnnl().dnnl_primitive_desc_destroy(plan);
  dnnl().dnnl_primitive_attr_destroy(attributes);
  for (dnnl_memory_desc_t description : {a, b, c, bias})
    dnnl().dnnl_memory_desc_destroy(description);
}

bool Plan::isSupported() const {
  if (!plan)
    return false;
  const char *implementation = "";
  dnnl().dnnl_primitive_desc_query(plan, dnnl_query_impl_info_str, 0, &implementation);
  return std::string_view(implementation).substr(0, 3) != "ref";
}

bool OneDnnProduct::isSupported(const hs_gemm &gemm) {
  return Plan(gemm, /*accumulate=*/false).isSupported();
}

OneDnnProduct::OneDnnProduct(OneDnn &oneDnn, const hs_gemm &gemm, bool accumulate, int workers)
    : oneDnn(oneDnn) {
  Plan plan(gemm, accumulate);
  if (!plan.isSupported())
    throw Error("", "oneDNN has no product of " + typeName(gemm.a_type) + " and " +
                        typeName(gemm.b_type) + " into " + typeName(gemm.c_type) + " on this CPU");
  OnOneThread guard;
  if (dnnl().dnnl_primitive_create(&primitive, plan.plan) != dnnl_success)
    throw Error("", "oneDNN cannot create a matrix product");
  const_dnnl_memory_desc_t scratch =
      dnnl().dnnl_primitive_desc_query_md(plan.plan, dnnl_query_scratchpad_md, 0);
  oneDnn.scratch.reserve(dnnl().dnnl_memory_desc_get_size(scratch));
  for (int worker = 0; worker < workers; ++worker)
    memories.push_back({emptyMemory(plan.a), emptyMemory(plan.b), emptyMemory(plan.c),
                        plan.bias ? emptyMemory(plan.bias) : nullptr, emptyMemory(scratch)});
}

OneDnnProduct::~OneDnnProduct() {
  for (const auto &worker : memories)
    for (dnnl_memory_t memory : worker)
      dnnl().dnnl_memory_destroy(memory);
  dnnl().dnnl_primitive_destroy(primitive);
}

void OneDnnProduct::run(int worker, const void *a, const void *b, void *c, const void *bias) const {
  const auto &[left, right, result, added, scratch] = memories[size_t(worker)];
  assert(!added == !bias && "a product with a bias gets one");
  dnnl_exec_arg_t arguments[5];
  int count = 0;
  auto place = [&](int name, dnnl_memory_t memory, const void *address) {
    dnnl().dnnl_memory_set_data_handle(memory, const_cast<void *>(address));
    arguments[count++] = {name, memory};
  };
  place(DNNL_ARG_SRC, left, a);
  place(DNNL_ARG_WEIGHTS, right, b);
  place(DNNL_ARG_DST, result, c);
  place(DNNL_ARG_SCRATCHPAD, scratch, oneDnn.scratch.at(worker));
  if (added)
    place(DNNL_ARG_BIAS, added, bias);
  [[maybe_unused]] dnnl_status_t status =
      dnnl().dnnl_primitive_execute(primitive, oneDnn.stream(worker), count, arguments);
  assert(status == dnnl_success && "a primitive that was created runs on valid pointers");
}

} // namespace halfstep::runtime
