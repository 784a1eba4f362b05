"""What a training step keeps in memory: halfstep's plan beside PyTorch's tensors, as a table.

    PATH=build/release/bin:$PATH python bench/plan.py MODEL.onnx BATCH > bench/plan.md

For models that are one convolution under a mean squared error, trained by RMSprop, data in fp16. What
PyTorch keeps is counted, not measured: each tensor of eager autocast (fp16) follows from the shapes
in the file, by the rules that the table names. Neither side's library workspace is in it.
"""

import json
import math
import pathlib
import subprocess
import sys

import onnx
from onnx import numpy_helper

MIB = 1 << 20


def shape_of(value, batch):
    return [dimension.dim_value or batch for dimension in value.type.tensor_type.shape.dim]


def pytorch(parameters, x, y):
    """(tensor, bytes per element, elements, lives) of eager autocast; lives: "always", or where in
    the step: "forward" (at the end of the loss's forward), "backward" (at the loss's backward)."""
    return [
        ("weights, f32", 4, parameters, "always"),
        ("gradients, f32", 4, parameters, "always"),
        ("RMSprop's square_avg, f32", 4, parameters, "always"),
        ("weights cast to f16, which autocast caches", 2, parameters, "always"),
        ("x, f16: the convolution saves it", 2, x, "always"),
        ("label, f16", 2, y, "always"),
        ("y, f16: the convolution's result", 2, y, "forward"),
        ("y cast to f32: mse_loss is a full op, and saves it", 4, y, "both"),
        ("label cast to f32: likewise", 4, y, "both"),
        ("(y - label)^2, f32: mse_loss before its mean", 4, y, "forward"),
        ("adjoint of y, f32", 4, y, "backward"),
        ("adjoint of y cast to f16: the convolution's", 2, y, "behind"),
    ]


def live(tensors, where):
    return sum(size * count for _, size, count, lives in tensors
               if lives in ("always", where) or (lives == "both" and where != "behind")
               or (lives == "backward" and where == "behind"))


def plan(model, batch, *options):
    command = ["halfstep", "inspect", model, "--batch", str(batch), "--loss", "mse", "--optimizer",
               "rmsprop:lr=3e-5,alpha=0.99,eps=1e-7", "--loss-scale", "none", "--precision",
               "half-grad", *options, "--phase", "memory", "--format", "json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def mib(size):
    return f"{size / MIB:,.1f}"


def main():
    path, batch = sys.argv[1], int(sys.argv[2])
    graph = onnx.load(path).graph
    x, y = (math.prod(shape_of(values[0], batch)) for values in (graph.input, graph.output))
    parameters = sum(numpy_helper.to_array(tensor).size for tensor in graph.initializer)
    tensors = pytorch(parameters, x, y)
    places = {"forward": "at the end of the loss", "backward": "at the loss's adjoint",
              "behind": "at the adjoint's cast"}

    print(f"# Memory of a step: {pathlib.Path(path).name} at batch {batch}\n")
    print(f"Printed by `bench/plan.py`. A convolution of {parameters:,} parameters, x of {x:,} and y of "
          f"{y:,}\nelements. PyTorch eager with autocast to fp16, counted tensor by tensor, in MiB:\n")
    print("| tensor | bytes each | elements | MiB | " + " | ".join(places.values()) + " |")
    print("|---|---|---|---|---|---|---|")
    for name, size, count, lives in tensors:
        marks = " | ".join("x" if live([(name, size, count, lives)], where) else ""
                           for where in places)
        print(f"| {name} | {size} | {count:,} | {mib(size * count)} | {marks} |")
    print("| **live** | | | | " +
          " | ".join(f"**{mib(live(tensors, where))}**" for where in places) + " |\n")

    ours = plan(path, batch, "--input-type", "x=fp16", "--input-type", "label=fp16",
                "--input-slots", "1")
    print("halfstep, `--precision half-grad --input-type x=fp16 --input-type label=fp16 "
          "--input-slots 1`, as planned:\n")
    print("| class | MiB |\n|---|---|")
    for name, size in ours["classes"].items():
        if size:
            print(f"| {name.replace('_', ' ')} | {mib(size)} |")
    peak, theirs = ours["peak_bytes"], max(live(tensors, where) for where in places)
    print(f"| **peak** | **{mib(peak)}** ({peak / 1e9:.2f} GB) |\n")
    print(f"{theirs / peak:.1f} times less: per element of y, {peak / y:.2f} bytes instead of "
          f"{theirs / y:.2f}. y is kept in f16 only:\nthe loss, its adjoint and the bias's gradient are one "
          "kernel that reads y and the label once, computes\nin f32 registers and writes the adjoint "
          "over y.")


if __name__ == "__main__":
    main()
