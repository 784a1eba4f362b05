"""Writes the ONNX node tests as folders: model.onnx, input_N.npy, output_N.npy, and cases.txt.

Usage: generate.py OUT. The cases are made by the pinned onnx's own generators, of every op that
`halfstep ops` has a forward for. Only the inputs that say a shape or axes are bound to their values,
as initializers; all others reach compiled kernels. Cases with sequences, strings, function bodies or
random outputs are not written.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

# Which inputs of an op are part of its shape.
STATIC = {"Reshape": [1], "Expand": [1], "Squeeze": [1], "Unsqueeze": [1], "ReduceSum": [1],
          "ReduceMean": [1], "ReduceMax": [1], "ReduceMin": [1], "ReduceSumSquare": [1],
          "ReduceL1": [1], "ReduceL2": [1], "ReduceLogSum": [1], "ReduceLogSumExp": [1],
          "ConstantOfShape": [0], "Range": [0, 1, 2], "Dropout": [1, 2], "Slice": [1, 2, 3, 4],
          "Split": [1], "Pad": [1, 3], "Tile": [1], "Gather": [1]}


def is_random(node, inputs):
    """Whether the outputs are one draw of many."""
    return node.op_type == "Dropout" and len(inputs) == 3 and inputs[1] != 0 and inputs[2]


def write(case, folder):
    node, = case.model.graph.node
    inputs, outputs = case.data_sets[0]
    if not all(isinstance(value, (numpy.ndarray, numpy.generic)) for value in [*inputs, *outputs]):
        return False
    if any(numpy.asarray(value).dtype.kind not in "fiub" for value in [*inputs, *outputs]):
        return False
    if is_random(node, inputs):
        return False
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    names = [value.name for value in model.graph.input]
    static = {node.input[i] for i in STATIC.get(node.op_type, []) if i < len(node.input)}
    folder.mkdir()
    kept = []
    for name, value in zip(names, inputs):
        if name in static:
            model.graph.initializer.append(numpy_helper.from_array(numpy.asarray(value), name))
        else:
            kept.append(name)
            numpy.save(folder / f"input_{len(kept) - 1}.npy", numpy.array(value, order="C"))
    remaining = [value for value in model.graph.input if value.name in kept]
    del model.graph.input[:]
    model.graph.input.extend(remaining)
    for i, value in enumerate(outputs):
        numpy.save(folder / f"output_{i}.npy", numpy.array(value, order="C"))
    onnx.save(model, folder / "model.onnx")
    return True


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    listed = subprocess.run(["halfstep", "ops", "--format", "json"], check=True, capture_output=True)
    ops = {op["op"] for op in json.loads(listed.stdout)["ops"] if op["forward"] == "yes"}
    lines = []
    for case in collect_testcases(None):
        if len(case.model.graph.node) != 1 or case.model.graph.node[0].op_type not in ops:
            continue
        if case.name.endswith("_expanded") or case.model.functions:
            continue
        if write(case, out / case.name):
            lines.append(f"{case.name} {case.rtol} {case.atol}\n")
    (out / "cases.txt").write_text("".join(sorted(lines)))


if __name__ == "__main__":
    main()
