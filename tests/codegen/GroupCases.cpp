//===- GroupCases.cpp - groups of every form, for the kernel tests --------------------------===//

#include "GroupCases.h"
#include "Reference.h"

#include <ostream>

using namespace mlir;
using namespace halfstep::kernel;
using namespace halfstep::tests;

void halfstep::tests::PrintTo(const GroupCase &groupCase, std::ostream *os) {
  *os << groupCase.name;
}

/// Replaces @KEY by a number or a type in a group's text.
static std::string fill(std::string text, std::vector<std::pair<std::string, std::string>> values) {
  for (auto &[key, value] : values)
    for (size_t at; (at = text.find("@" + key)) != std::string::npos;)
      text.replace(at, key.size() + 1, value);
  return text;
}

std::string GroupCase::instantiate(const std::string &type) const {
  std::string result;
  std::string compute = type == "f16" || type == "bf16" ? "f32" : type;
  for (auto [rows, columns] : sizes) {
    std::string r = std::to_string(rows), n = std::to_string(columns);
    result += fill(text, {{"NAME", std::string("@") + name + "_" + r + "x" + n},
                          {"RC", std::to_string(rows * columns)},
                          {"R5", std::to_string(rows * 5)},
                          {"C5", std::to_string(columns * 5)},
                          {"R", r},
                          {"C", n},
                          {"H", type},
                          {"T", compute}});
  }
  return result;
}

static std::vector<char> randomBuffer(GroupOp group, unsigned buffer, std::mt19937 &random) {
  Type storage = group.getStorageType(buffer);
  int64_t extent = extentOf(group, buffer), last = group.getSpace().back();
  std::vector<char> bytes(extent * bytesOf(storage));
  std::uniform_real_distribution<double> real(-2, 2);
  for (int64_t i = 0; i < extent; ++i) {
    double value = real(random);
    if (storage.isInteger(1))
      value = random() % 2;
    else if (isa<IntegerType>(storage))
      value = random() % std::min<int64_t>(last, 100);
    writeElement(storage, bytes.data(), i, value);
  }
  return bytes;
}

Buffers halfstep::tests::randomBuffers(GroupOp group, std::mt19937 &random) {
  unsigned arguments = group.getBlock().getNumArguments();
  Buffers buffers;
  for (unsigned i = 0; i < group.getNumBuffers(); ++i)
    buffers.push_back(
        i < arguments
            ? randomBuffer(group, i, random)
            : std::vector<char>(extentOf(group, i) * bytesOf(group.getStorageType(i)), 0x55));
  return buffers;
}

static const std::vector<std::string> floats = {"f32", "f64", "f16", "bf16"};
static const std::vector<std::string> single = {"f32"};
static const std::vector<std::pair<int, int>> rowSizes = {
    {3, 1},   {1, 2},   {3, 3},    {5, 7},    {16, 10},  {2, 16},   {3, 17},   {2, 31},
    {1, 32},  {3, 33},  {2, 48},   {2, 63},   {1, 64},   {3, 100},  {2, 255},  {1, 256},
    {2, 257}, {2, 784}, {3, 1000}, {1, 1025}, {1, 2049}, {1, 4097}, {2, 20000}};
static const std::vector<std::pair<int, int>> mapSizes = {
    {1, 1},  {3, 1},  {1, 7},   {16, 10},  {7, 16},    {3, 17},
    {5, 31}, {2, 64}, {3, 255}, {2, 1000}, {1, 16384}, {2, 33000}};
static const std::vector<std::pair<int, int>> columnSizes = {
    {1, 1},    {1, 10},  {7, 1},    {16, 10},  {8, 17},    {9, 33},
    {64, 255}, {100, 3}, {512, 40}, {513, 10}, {1000, 60}, {3000, 1}};

std::vector<GroupCase> halfstep::tests::groupCases() {
  return {
      GroupCase{"add_bias_relu", floats, mapSizes, R"(
kernel.group @NAME [@R, @C](%x: @H[@C, 1], %b: @H[0, 1], %y: @H[@C, 1]) -> (@H[@C, 1], @H[@C, 1]) {
  %zero = arith.constant 0.0 : @T
  %s = arith.addf %x, %b : @T
  %m = arith.mulf %s, %y : @T
  %r = arith.maximumf %s, %zero : @T
  kernel.yield %r, %m : @T, @T
})"},
      GroupCase{"functions", {"f32", "f64"}, {{1, 1}, {1, 7}, {3, 100}}, R"(
kernel.group @NAME [@R, @C](%x: @H[@C, 1], %y: @H[@C, 1]) -> (@H[@C, 1], @H[@C, 1], @H[@C, 1], @H[@C, 1], @H[@C, 1], @H[@C, 1], @H[@C, 1]) {
  %a = math.absf %x : @T
  %e = math.exp %y : @T
  %l = math.log %a : @T
  %t = math.tanh %x : @T
  %f = math.erf %y : @T
  %p = math.powf %a, %y : @T
  %s = math.rsqrt %a : @T
  %g = math.floor %y : @T
  kernel.yield %e, %l, %t, %f, %p, %s, %g : @T, @T, @T, @T, @T, @T, @T
})"},
      GroupCase{"channel_affine", floats, {{3, 49}, {5, 1}, {4, 100}}, R"(
kernel.group @NAME [5, @R, @C](%x: @H[@RC, @C, 1], %s: f32[0, 1, 0], %t: f32[0, 1, 0]) -> (@H[@RC, @C, 1]) {
  %x0 = arith.constant 1.0 : @T
  %u = arith.mulf %x, %x0 : @T
  kernel.yield %u : @T
}
kernel.group @NAMEs [5, @R, @C](%x: f32[@RC, @C, 1], %s: f32[0, 1, 0], %t: f32[0, 1, 0]) -> (f32[@RC, @C, 1]) {
  %r = math.fma %x, %s, %t : f32
  kernel.yield %r : f32
})"},
      GroupCase{"softmax", floats, rowSizes, R"(
kernel.group @NAME [@R, @C](%x: @H[@C, 1]) -> (@H[@C, 1]) {
  %m = kernel.reduce max %x over last : @T
  %d = arith.subf %x, %m : @T
  %e = math.exp %d : @T
  %s = kernel.reduce add %e over last : @T
  %y = arith.divf %e, %s : @T
  kernel.yield %y : @T
})"},
      GroupCase{"softmax_in_place", single, rowSizes, R"(
kernel.group @NAME [@R, @C](%x: f32[@C, 1]) -> (%x) {
  %m = kernel.reduce max %x over last : f32
  %d = arith.subf %x, %m : f32
  %e = math.exp %d : f32
  %s = kernel.reduce add %e over last : f32
  %y = arith.divf %e, %s : f32
  kernel.yield %y : f32
})"},
      GroupCase{"row_values_in_place", floats, rowSizes, R"(
kernel.group @NAME [@R, @C](%x: @H[@C, 1], %m: @T[1, 0], %n: @T[1, 0]) -> (%m, @H[@C, 1], %n) {
  %d = arith.subf %x, %m : @T
  %s = kernel.reduce max %d over last : @T
  %y = arith.subf %d, %s : @T
  %next = arith.addf %s, %n : @T
  kernel.yield %next, %y, %m : @T, @T, @T
})"},
      GroupCase{"cross_entropy", floats, rowSizes, R"(
kernel.group @NAME [@R, @C](%x: @H[@C, 1], %label: i64[1, 0]) -> (@T[1, 0], @T[1, 0]) {
  %m = kernel.reduce max %x over last : @T
  %d = arith.subf %x, %m : @T
  %e = math.exp %d : @T
  %s = kernel.reduce add %e over last : @T
  %c = kernel.index [0, 1] : i32
  %l32 = arith.trunci %label : i64 to i32
  %is = arith.cmpi eq, %c, %l32 : i32
  %z = arith.constant 0.0 : @T
  %t = arith.select %is, %x, %z : @T
  %xl = kernel.reduce add %t over last : @T
  %l = math.log %s : @T
  %lse = arith.addf %l, %m : @T
  %loss = arith.subf %lse, %xl : @T
  kernel.yield %loss, %lse : @T, @T
})"},
      GroupCase{"layer_norm", floats, rowSizes, R"(
kernel.group @NAME [@R, @C](%x: @H[@C, 1], %g: @T[0, 1], %b: @T[0, 1]) -> (@H[@C, 1], @T[1, 0], @T[1, 0]) {
  %n = arith.constant @C.0 : @T
  %eps = arith.constant 1.0e-5 : @T
  %s = kernel.reduce add %x over last : @T
  %mean = arith.divf %s, %n : @T
  %d = arith.subf %x, %mean : @T
  %d2 = arith.mulf %d, %d : @T
  %v = kernel.reduce add %d2 over last : @T
  %var = arith.divf %v, %n : @T
  %ve = arith.addf %var, %eps : @T
  %rs = math.rsqrt %ve : @T
  %h = arith.mulf %d, %rs : @T
  %y = math.fma %h, %g, %b : @T
  kernel.yield %y, %mean, %rs : @T, @T, @T
})"},
      GroupCase{"extremes", {"f32", "f64"}, rowSizes, R"(
kernel.group @NAME [@R, @C](%x: @H[@C, 1]) -> (@H[1, 0], @H[1, 0], @H[@C, 1]) {
  %min = kernel.reduce min %x over last : @T
  %max = kernel.reduce max %x over last : @T
  %range = arith.subf %max, %min : @T
  kernel.yield %min, %max, %range : @T, @T, @T
})"},
      GroupCase{"integers", single, rowSizes, R"(
kernel.group @NAME [@R, @C](%x: i32[@C, 1], %y: i64[@C, 1], %z: i1[@C, 1], %u: ui8[@C, 1], %v: i8[@C, 1]) -> (i32[1, 0], i64[1, 0], i1[1, 0], ui8[@C, 1], i8[@C, 1], i1[@C, 1], f32[@C, 1]) {
  %a = kernel.reduce add %x over last : i32
  %b = kernel.reduce max %y over last : i64
  %c = kernel.reduce or %z over last : i1
  %two = arith.constant 2 : i32
  %d = arith.addi %u, %two : i32
  %is = arith.cmpi sgt, %x, %u : i32
  %n = arith.xori %is, %z : i1
  %w = arith.extsi %v : i8 to i32
  %f = arith.sitofp %w : i32 to f32
  kernel.yield %a, %b, %c, %d, %v, %n, %f : i32, i64, i1, i32, i8, i1, f32
})"},
      GroupCase{"bias_gradient", floats, columnSizes, R"(
kernel.group @NAME [@R, @C](%dy: @H[@C, 1]) -> (@H[0, 1]) {
  %db = kernel.reduce add %dy over rows : @T
  kernel.yield %db : @T
})"},
      GroupCase{"norm_gradient", floats, columnSizes, R"(
kernel.group @NAME [3, @R, @C](%x: @H[@RC, @C, 1], %dy: @H[@RC, @C, 1], %mean: @T[@R, 1, 0], %dg: @T[@C, 0, 1]) -> (%dg, @T[@C, 0, 1], @T[@RC, @C, 1]) {
  %d = arith.subf %x, %mean : @T
  %t = arith.mulf %dy, %d : @T
  %s = kernel.reduce add %t over rows : @T
  %m = kernel.reduce max %dy over rows : @T
  %sum = arith.addf %dg, %s : @T
  kernel.yield %sum, %m, %t : @T, @T, @T
})"},
      GroupCase{
          "norm2", floats, {{1, 1}, {1, 10}, {1, 1000}, {1, 16384}, {1, 16385}, {1, 100001}}, R"(
kernel.group @NAME [@C](%g: @H[1], %total: @T[0]) -> (%total, @T[0]) {
  %q = arith.mulf %g, %g : @T
  %s = kernel.reduce add %q over last : @T
  %m = kernel.reduce max %g over last : @T
  %t = arith.addf %total, %s : @T
  kernel.yield %t, %m : @T, @T
})"},
      GroupCase{"transpose",
                {"f32", "f64", "f16", "i8", "i1"},
                {{1, 7}, {10, 10}, {16, 16}, {17, 33}, {100, 64}, {130, 255}},
                R"(
kernel.group @NAME [@R, @C](%x: @H[1, @R]) -> (@H[@C, 1]) {
  kernel.yield %x : @T
})"},
      // The square is as large as bytes have it, of numbers four and eight times as long.
      GroupCase{"masked_transpose", {"f32", "f64"}, {{3, 7}, {64, 100}, {128, 256}}, R"(
kernel.group @NAME [@R, @C](%x: @H[1, @R], %y: @H[1, @R], %m: i1[@C, 1]) -> (@H[@C, 1]) {
  %z = arith.select %m, %x, %y : @T
  kernel.yield %z : @T
})"},
      GroupCase{"permute", {"f32", "f64"}, {{3, 4}, {17, 20}, {33, 16}}, R"(
kernel.group @NAME [@R, 5, @C](%x: @H[1, @R, @R5], %y: @H[0, 0, 3]) -> (@H[@C5, @C, 1], @H[1, @RC, @R]) {
  %s = arith.addf %x, %y : @T
  kernel.yield %x, %s : @T, @T
})"},
      GroupCase{"positions", single, {{3, 7}, {5, 40}}, R"(
kernel.group @NAME [2, @R, 1, @C](%x: f32[@RC, @C, 0, 1]) -> (f32[@RC, @C, 0, 1]) {
  %i = kernel.index [1, 0, 0, 0] : i32
  %j = kernel.index [0, 1, 0, 0] : i32
  %k = kernel.index [0, 0, 1, 0] : i32
  %l = kernel.index [0, 0, 0, 1] : i32
  %a = arith.addi %i, %k : i32
  %hundred = arith.constant 100 : i32
  %b = arith.muli %j, %hundred : i32
  %c = arith.addi %a, %b : i32
  %d = arith.addi %c, %l : i32
  %f = arith.sitofp %d : i32 to f32
  %y = arith.addf %f, %x : f32
  kernel.yield %y : f32
})"},
      // What counts the points walks as a buffer does: [2, R, C] is one dimension.
      GroupCase{"count", single, {{3, 7}, {5, 40}, {1, 1}}, R"(
kernel.group @NAME [2, @R, @C](%x: f32[@RC, @C, 1]) -> (f32[@RC, @C, 1]) {
  %i = kernel.index [@RC, @C, 1] : i32
  %f = arith.sitofp %i : i32 to f32
  %y = arith.addf %f, %x : f32
  kernel.yield %y : f32
})"},
      GroupCase{"row_count", single, rowSizes, R"(
kernel.group @NAME [@R, @C](%x: f32[@C, 1]) -> (f32[1, 0], f32[@C, 1], f32[1, 0]) {
  %i = kernel.index [@C, 1] : i32
  %j = kernel.index [2, 0] : i32
  %f = arith.sitofp %i : i32 to f32
  %g = arith.sitofp %j : i32 to f32
  %y = arith.mulf %f, %x : f32
  %s = kernel.reduce add %y over last : f32
  kernel.yield %s, %y, %g : f32, f32, f32
})"},
      GroupCase{"column_count", single, columnSizes, R"(
kernel.group @NAME [@R, @C](%x: f32[@C, 1]) -> (f32[0, 1], f32[@C, 1]) {
  %i = kernel.index [@C, 1] : i32
  %f = arith.sitofp %i : i32 to f32
  %y = arith.mulf %f, %x : f32
  %s = kernel.reduce add %y over rows : f32
  kernel.yield %s, %y : f32, f32
})"},
      GroupCase{"transposed_count", single, {{3, 7}, {16, 16}, {17, 33}, {100, 64}}, R"(
kernel.group @NAME [@R, @C](%x: f32[1, @R]) -> (f32[@C, 1]) {
  %i = kernel.index [@C, 1] : i32
  %j = kernel.index [1, @R] : i32
  %two = arith.constant 2 : i32
  %k = arith.muli %i, %two : i32
  %l = arith.addi %j, %k : i32
  %f = arith.sitofp %l : i32 to f32
  %y = arith.addf %f, %x : f32
  kernel.yield %y : f32
})"},
      GroupCase{"parts", floats, mapSizes, R"(
kernel.group @NAME [@R, @C](%x: @H[@C5, -2] + @C5, %w: @H[@C5, 3] + 2, %y: @H[-@C, 1] + @RC) -> (@H[@C5, 1] + @C, %w, @H[@C, -1] + @C) {
  %s = arith.addf %x, %y : @T
  %m = arith.mulf %x, %w : @T
  kernel.yield %s, %m, %y : @T, @T, @T
})"},
      GroupCase{"softmax_of_parts", floats, rowSizes, R"(
kernel.group @NAME [@R, @C](%x: @H[@C5, -1] + @C, %w: @H[@C5, 1] + 3) -> (%w, @T[5, 0] + 4) {
  %m = kernel.reduce max %x over last : @T
  %d = arith.subf %x, %m : @T
  %e = math.exp %d : @T
  %s = kernel.reduce add %e over last : @T
  %y = arith.divf %e, %s : @T
  kernel.yield %y, %s : @T, @T
})"},
      // More leaves than a block's memory has for eight columns of a lane.
      GroupCase{"many_columns", {"f32", "f64"}, {{40, 16}, {20, 256}}, R"(
kernel.group @NAME [@R, @C](%x: @H[@C, 1], %y: @H[@C, 1]) -> (@H[0, 1], @H[0, 1], @H[0, 1], @H[0, 1], @H[0, 1], @H[0, 1], @H[0, 1]) {
  %p = arith.mulf %x, %y : @T
  %d = arith.subf %x, %y : @T
  %a = kernel.reduce add %x over rows : @T
  %b = kernel.reduce add %y over rows : @T
  %c = kernel.reduce add %p over rows : @T
  %e = kernel.reduce add %d over rows : @T
  %f = kernel.reduce max %x over rows : @T
  %g = kernel.reduce max %y over rows : @T
  %h = kernel.reduce max %p over rows : @T
  kernel.yield %a, %b, %c, %e, %f, %g, %h : @T, @T, @T, @T, @T, @T, @T
})"},
      GroupCase{"columns_of_parts", floats, columnSizes, R"(
kernel.group @NAME [@R, @C](%x: @H[-@C, 1] + @RC, %y: @H[@C5, 2] + 1, %w: @T[0, 1] + 7) -> (%w, @H[@C5, 1] + @C) {
  %t = arith.mulf %x, %y : @T
  %s = kernel.reduce add %t over rows : @T
  kernel.yield %s, %t : @T, @T
})"},
      GroupCase{"transpose_of_parts", {"f32", "f16", "i8"}, {{3, 7}, {17, 33}, {64, 100}}, R"(
kernel.group @NAME [@R, @C](%x: @H[1, @R5] + @R) -> (@H[@C5, 1] + 9) {
  kernel.yield %x : @T
})"},
      GroupCase{"rmsprop", single, mapSizes, R"(
kernel.group @NAME [@RC](%w: f32[1], %v: f32[1], %g: f32[1], %lr: f64[0], %bad: i1[0]) -> (%w, %v, bf16[1]) {
  %alpha = arith.constant 0.99 : f32
  %beta = arith.constant 0.01 : f32
  %eps = arith.constant 1.0e-7 : f32
  %rate = arith.truncf %lr : f64 to f32
  %u2 = arith.mulf %g, %g : f32
  %u3 = arith.mulf %u2, %beta : f32
  %av = math.absf %v : f32
  %v1 = math.fma %av, %alpha, %u3 : f32
  %sq = math.sqrt %v1 : f32
  %de = arith.addf %sq, %eps : f32
  %q = arith.divf %g, %de : f32
  %st = arith.mulf %q, %rate : f32
  %w1 = arith.subf %w, %st : f32
  %w2 = arith.select %bad, %w, %w1 : f32
  %v2 = arith.select %bad, %v, %v1 : f32
  kernel.yield %w2, %v2, %w2 : f32, f32, f32
})"}};
}
