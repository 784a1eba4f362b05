"""Whole training steps on a GPU, halfstep beside PyTorch in one run: a table of times.

    PATH=build/release/bin:$PATH python bench/gpu.py [ARCH]

As train.py, with the CUDA step for ARCH (default sm_80) beside PyTorch in eager mode and through
torch.compile. PyTorch's batches are on the device before anything is timed; halfstep's come from files.
"""

import datetime
import pathlib
import statistics
import sys
import tempfile

import numpy
import torch

from train import AGREE_AFTER, ROUNDS, STEPS, TOLERANCE, Halfstep, PyTorch, load_program


def compare(name, precision, architecture, folder):
    """A row of the table."""
    program = load_program(name, folder)
    warm_up, our_steps, their_steps = STEPS[name]
    ours = Halfstep(program, precision, 1, warm_up, folder,
                    ["--target", "cuda", "--arch", architecture])
    with (PyTorch(name, program, precision, 1, folder, ["cuda"]) as eager,
          PyTorch(name, program, precision, 1, folder, ["cuda", "compile"]) as compiled):
        loss = ours.loss(folder)
        for theirs in (eager, compiled):
            numpy.testing.assert_allclose(loss, theirs.run(AGREE_AFTER)["loss"],
                                          rtol=TOLERANCE[precision], err_msg=f"{name} {precision}")
            theirs.run(their_steps)  # warm-up
        rounds = [(ours.step_seconds(our_steps), *(theirs.run(their_steps)["seconds"] / their_steps
                                                   for theirs in (eager, compiled)))
                  for _ in range(ROUNDS)]
    ours, *theirs = (statistics.median(times) * 1e6 for times in zip(*rounds))
    return (f"| {name} | {precision} | {ours:.1f} | "
            f"{' | '.join(f'{time:.1f}' for time in theirs)} | {min(theirs) / ours:.1f} |")


def main():
    architecture = sys.argv[1] if len(sys.argv) > 1 else "sm_80"
    print(f"{datetime.date.today()}, {torch.cuda.get_device_name()}, {architecture}\n")
    print("| model | precision | halfstep, µs a step | PyTorch eager | torch.compile | ratio |\n"
          "|---|---|---|---|---|---|")
    for name in STEPS:
        for precision in TOLERANCE:
            with tempfile.TemporaryDirectory() as folder:
                print(compare(name, precision, architecture, pathlib.Path(folder)), flush=True)


if __name__ == "__main__":
    main()
