// What is emitted as one kernel has reductions of one chunk.
// RUN: halfstep-opt %s --emit-cpu-kernels --verify-diagnostics

// expected-error@+1 {{has a reduction of several chunks, which has to be split first}}
kernel.group @columns [100000, 8](%x: f32[8, 1]) -> (f32[0, 1]) {
  %sum = kernel.reduce add %x over rows : f32
  kernel.yield %sum : f32
}
