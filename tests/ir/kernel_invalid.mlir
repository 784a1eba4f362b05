// What the kernel dialect refuses, and in which words.
// RUN: halfstep-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// expected-error@+1 {{buffer 0: expected 2 strides, one a dimension}}
kernel.group @strides [4, 8](%x: f32[1]) -> (f32[8, 1]) {
  kernel.yield %x : f32
}

// -----

// expected-error@+1 {{i16' is not a storage type}}
kernel.group @storage [4](%x: i16[1]) -> (f32[1]) {
}

// -----

// expected-error@+1 {{has a dimension of size less than 1}}
kernel.group @empty [4, 0](%x: f32[1, 1]) -> (f32[1, 1]) {
  kernel.yield %x : f32
}

// -----

// expected-error@+1 {{result buffer 7 is out of range}}
"kernel.group"() <{sym_name = "range", space = array<i64: 4>, types = [f32, f32],
    strides = [array<i64: 1>, array<i64: 1>], offsets = array<i64: 0, 0>, outs = array<i64: 7>}> ({
^bb0(%x: f32):
  kernel.yield %x : f32
}) : () -> ()

// -----

// expected-error@+1 {{result buffer 0 is repeated or out of order}}
kernel.group @twice [4](%x: f32[1]) -> (%x, %x) {
  kernel.yield %x, %x : f32, f32
}

// -----

kernel.group @name [4](%x: f32[1]) -> (
  // expected-error@+1 {{not an argument of this group}}
  %y) {
  kernel.yield %x : f32
}

// -----

// expected-error@+1 {{has 1 results but yields 2 values}}
kernel.group @count [4](%x: f32[1]) -> (f32[1]) {
  kernel.yield %x, %x : f32, f32
}

// -----

// expected-error@+1 {{result 0: a value of type 'f32' is yielded to storage 'f64'}}
kernel.group @type [4](%x: f32[1]) -> (f64[1]) {
  kernel.yield %x : f32
}

// -----

kernel.group @sorts [4, 8](%x: f32[8, 1]) -> (f32[1, 0], f32[0, 1]) {
  %row = kernel.reduce add %x over last : f32
  // expected-error@+1 {{a group has reductions over `last` or over `rows`, not both}}
  %column = kernel.reduce add %x over rows : f32
  kernel.yield %row, %column : f32, f32
}

// -----

kernel.group @epilogue [4, 8](%x: f32[8, 1]) -> (f32[8, 1]) {
  %column = kernel.reduce add %x over rows : f32
  // expected-error@+1 {{behind a reduction over rows there are column values only}}
  %y = arith.subf %x, %column : f32
  kernel.yield %y : f32
}

// -----

// expected-error@+1 {{result 0: a value reduced over rows cannot be repeated along them}}
kernel.group @repeat [4, 8](%x: f32[8, 1]) -> (f32[8, 1]) {
  %column = kernel.reduce add %x over rows : f32
  kernel.yield %column : f32
}

// -----

// expected-error@+1 {{result 0: has stride 0 in dimension 1, along which its value varies}}
kernel.group @varies [4, 8](%x: f32[8, 1]) -> (f32[1, 0]) {
  %row = kernel.reduce add %x over last : f32
  kernel.yield %x : f32
}

// -----

// expected-error@+1 {{result 0: has stride 0 in dimension 0, which is not reduced}}
kernel.group @race [4, 8](%x: f32[0, 1]) -> (f32[0, 1]) {
  kernel.yield %x : f32
}

// -----

// expected-error@+1 {{result 0: its strides write an element twice}}
kernel.group @overlap [4, 8](%x: f32[8, 1]) -> (f32[7, 1]) {
  kernel.yield %x : f32
}

// -----

kernel.group @line [8](%x: f32[1]) -> (f32[0]) {
  // expected-error@+1 {{over rows needs a space of two or more dimensions}}
  %sum = kernel.reduce add %x over rows : f32
  kernel.yield %sum : f32
}

// -----

kernel.group @kind [8](%x: f32[1]) -> (f32[0]) {
  // expected-error@+1 {{or does not take 'f32'}}
  %sum = kernel.reduce or %x over last : f32
  kernel.yield %sum : f32
}

// -----

kernel.group @strides_of_index [8](%x: f32[1]) -> (i32[1]) {
  // expected-error@+1 {{has 2 strides for a space of 1 dimensions}}
  %i = kernel.index [1, 1] : i32
  kernel.yield %i : i32
}

// -----

// expected-error@+1 {{needs the four sizes batch, m, n, k}}
kernel.contract @sizes [16, 10, 8] f32 (a[0, 8, 1], b[0, 1, 8]) -> c[0, 10, 1]

// -----

// expected-error@+1 {{takes f16, bf16, f32 or f64, not 'i32'}}
kernel.contract @half [1, 16, 10, 8] i32 (a[0, 8, 1], b[0, 1, 8]) -> c[0, 10, 1]

// -----

// expected-error@+1 {{buffer 0: is walked to in front of its first element}}
kernel.group @front [4, 8](%x: f32[8, -1] + 6) -> (f32[8, 1]) {
  kernel.yield %x : f32
}

// -----

// expected-error@+1 {{result 0: its strides write an element twice}}
kernel.group @backwards [4, 8](%x: f32[8, 1]) -> (f32[8, -2] + 14) {
  kernel.yield %x : f32
}

// -----

// expected-error@+1 {{needs an offset for each of 2 buffers}}
"kernel.group"() <{sym_name = "offsets", space = array<i64: 4>, types = [f32, f32],
    strides = [array<i64: 1>, array<i64: 1>], offsets = array<i64: 0>, outs = array<i64: 1>}> ({
^bb0(%x: f32):
  kernel.yield %x : f32
}) : () -> ()

// -----

// expected-error@+1 {{has 2 storage types but strides for 1 buffers}}
"kernel.group"() <{sym_name = "buffers", space = array<i64: 4>, types = [f32, f32],
    strides = [array<i64: 1>], offsets = array<i64: 0, 0>, outs = array<i64: 1>}> ({
^bb0(%x: f32):
  kernel.yield %x : f32
}) : () -> ()

// -----

// expected-error@+1 {{buffer 1: 'i16' is not a storage type}}
"kernel.group"() <{sym_name = "type", space = array<i64: 4>, types = [f32, i16],
    strides = [array<i64: 1>, array<i64: 1>], offsets = array<i64: 0, 0>, outs = array<i64: 1>}> ({
^bb0(%x: f32):
  kernel.yield %x : f32
}) : () -> ()

// -----

// expected-error@+1 {{needs 1 to 64 dimensions}}
kernel.group @point [](%x: f32[]) -> (f32[]) {
  kernel.yield %x : f32
}

// -----

// expected-error@+1 {{has more arguments than buffers}}
"kernel.group"() <{sym_name = "arguments", space = array<i64: 4>, types = [f32],
    strides = [array<i64: 1>], offsets = array<i64: 0>, outs = array<i64: 0>}> ({
^bb0(%x: f32, %y: f32):
  kernel.yield %x : f32
}) : () -> ()

// -----

// expected-error@+1 {{argument 0: expected compute type 'f32', not 'f16'}}
"kernel.group"() <{sym_name = "compute", space = array<i64: 4>, types = [f16, f16],
    strides = [array<i64: 1>, array<i64: 1>], offsets = array<i64: 0, 0>, outs = array<i64: 1>}> ({
^bb0(%x: f16):
  kernel.yield
}) : () -> ()

// -----

// expected-error@+1 {{buffer 1 is neither an argument nor a result}}
"kernel.group"() <{sym_name = "unused", space = array<i64: 4>, types = [f32, f32],
    strides = [array<i64: 1>, array<i64: 1>], offsets = array<i64: 0, 0>, outs = array<i64>}> ({
^bb0(%x: f32):
  kernel.yield
}) : () -> ()

// -----

// expected-error@+1 {{must end with kernel.yield}}
kernel.group @end [4](%x: f32[1]) -> (f32[1]) {
  "other.end"() : () -> ()
}

// -----

kernel.group @foreign [4](%x: f32[1]) -> (f32[1]) {
  // expected-error@+1 {{is not an operation of a kernel's body}}
  %y = "other.op"(%x) : (f32) -> f32
  kernel.yield %y : f32
}

// -----

// expected-error@+1 {{has a size less than 1}}
kernel.contract @no_rows [1, 0, 10, 8] f32 (a[0, 8, 1], b[0, 1, 8]) -> c[0, 10, 1]

// -----

// expected-error@+1 {{needs three strides a matrix}}
kernel.contract @matrix [1, 16, 10, 8] f32 (a[8, 1], b[0, 1, 8]) -> c[0, 10, 1]

// -----

// expected-error@+1 {{has a negative stride}}
kernel.contract @backwards_product [1, 16, 10, 8] f32 (a[0, -8, 1], b[0, 1, 8]) -> c[0, 10, 1]

// -----

// expected-error@+1 {{c has stride 0 in dimension 1}}
kernel.contract @race_of_products [1, 16, 10, 8] f32 (a[0, 8, 1], b[0, 1, 8]) -> c[0, 0, 1]
