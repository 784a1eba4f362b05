"""The peer that train.py and gpu.py measure: a recipe trained by PyTorch in its own process, eagerly
or, where COMPILE is "compile", through torch.compile.

    pytorch.py PRECISION THREADS FOLDER [DEVICE [COMPILE]]

FOLDER holds recipe.json, weights.npz, x.npy and, where the loss needs one, label.npy. For each
number of steps read from stdin, the process trains that many and answers with a line of JSON: the
seconds they took, the loss of the last one, and the largest resident memory so far, in MB.
"""

import functools
import json
import pathlib
import sys
import time

import numpy
import torch
from torch import nn

from memory import peak_megabytes


class Keknet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Conv2d(3, 64, 3, padding=1)

    def forward(self, x):
        return self.layer1(x)


MODELS = {
    "linear8": lambda: nn.Linear(8, 1),
    "mlp10": lambda: nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 1)),
    "digits_mlp": lambda: nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64),
                                        nn.ReLU(), nn.Linear(64, 10)),
    "keknet_555": Keknet,
}
LOSSES = {
    "mean": lambda y, label: y.float().mean(),  # the usual loss scale is beyond fp16
    "mse": nn.functional.mse_loss,
    "cross-entropy": nn.functional.cross_entropy,
}
# In the form that was faster on these models: fused for Adam, not for SGD.
OPTIMIZERS = {"sgd": torch.optim.SGD, "rmsprop": torch.optim.RMSprop,
              "adam": functools.partial(torch.optim.Adam, fused=True)}


class Training:
    def __init__(self, precision, folder, device="cpu", compile=""):
        self.device = device
        recipe = json.loads((folder / "recipe.json").read_text())
        self.model = MODELS[recipe["model"]]()
        weights = numpy.load(folder / "weights.npz")
        self.model.load_state_dict({name: torch.from_numpy(weights[name]) for name in weights})
        self.model.to(device)
        self.loss = LOSSES[recipe["loss"]]
        name, _, options = recipe["optimizer"].partition(":")
        keywords = {key: float(value)
                    for key, value in (option.split("=") for option in options.split(","))}
        self.optimizer = OPTIMIZERS[name](self.model.parameters(), **keywords)
        self.scaler = torch.amp.GradScaler(device)
        self.step = self.plain_step if precision == "fp32" else self.mixed_step

        if compile:
            self.model = torch.compile(self.model, mode="max-autotune")
        # Views of the data, made once: here PyTorch pays for no data loading at all.
        data = [torch.from_numpy(numpy.load(folder / file)).to(device).split(recipe["batch"])
                for file in ("x.npy", "label.npy") if (folder / file).exists()]
        x, label = data if len(data) == 2 else (data[0], data[0])
        self.batches = [pair for pair in zip(x, label) if len(pair[0]) == recipe["batch"]]
        self.done = 0

    def plain_step(self, x, label):
        self.optimizer.zero_grad()
        loss = self.loss(self.model(x), label)
        loss.backward()
        self.optimizer.step()
        return loss

    def mixed_step(self, x, label):
        self.optimizer.zero_grad()
        with torch.autocast(self.device, dtype=torch.float16):
            loss = self.loss(self.model(x), label)
        self.scaler.scale(loss).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss

    def run(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            loss = self.step(*self.batches[self.done % len(self.batches)])
            self.done += 1
        return {"loss": loss.item(), "seconds": time.perf_counter() - start,
                "megabytes": peak_megabytes()}


def main():
    precision, threads, folder, *place = sys.argv[1:]
    torch.set_num_threads(int(threads))
    training = Training(precision, pathlib.Path(folder), *place)
    for line in sys.stdin:
        print(json.dumps(training.run(int(line))), flush=True)


if __name__ == "__main__":
    main()
