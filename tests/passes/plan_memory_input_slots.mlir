// A step has 1 to 64 slots for its inputs.
// RUN: halfstep-opt %s --plan-memory=input-slots=1 | FileCheck %s --check-prefix=ONE
// RUN: halfstep-opt %s --plan-memory=input-slots=64 | FileCheck %s --check-prefix=MOST
// RUN: not halfstep-opt %s --plan-memory=input-slots=0 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not halfstep-opt %s --plan-memory=input-slots=65 2>&1 | FileCheck %s --check-prefix=MORE

// ONE: halfstep.arena_bytes = 0
// ONE-SAME: halfstep.input_slots = 1
// MOST: halfstep.input_slots = 64
// NONE: error: --input-slots: 0 is not a whole number from 1 to 64
// MORE: error: --input-slots: 65 is not a whole number from 1 to 64
func.func @init() {
  return
}
