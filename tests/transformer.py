"""Writes a GPT-like model with small dimensions, its nodes named as PyTorch's exporter names them.

    python3 transformer.py OUT.onnx [BLOCKS]
"""

import math
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, TOKENS, CLASSES = 32, 4, 16, 50


class Graph:
    def __init__(self):
        self.nodes, self.weights = [], []
        self.generator = numpy.random.default_rng(0)

    def weight(self, name, *shape, scale=0.05):
        value = self.generator.normal(0, scale, shape).astype(numpy.float32)
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def constant(self, name, values, kind=numpy.int64):
        value = numpy_helper.from_array(numpy.array(values, kind))
        self.nodes.append(helper.make_node("Constant", [], [name], name=f"/{name}", value=value))

    def add(self, scope, kind, *inputs, outputs=1, **attributes):
        names = [f"{scope}/{kind}_output_{i}" for i in range(outputs)]
        self.nodes.append(
            helper.make_node(kind, inputs, names, name=f"{scope}/{kind}", **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, scope, x, inputs, outputs):
        name = scope.strip("/").replace("/", ".")
        product = self.add(scope, "MatMul", x, self.weight(f"{name}.weight", inputs, outputs))
        return self.add(scope, "Add", product, self.weight(f"{name}.bias", outputs))

    def norm(self, scope, x):
        name = scope.strip("/").replace("/", ".")
        return self.add(scope, "LayerNormalization", x, self.weight(f"{name}.weight", WIDTH),
                        self.weight(f"{name}.bias", WIDTH), axis=-1, epsilon=1e-5)

    def heads(self, scope, x, order):
        split = self.add(scope, "Reshape", x, "heads")
        return self.add(scope, "Transpose", split, perm=order)

    def attention(self, scope, x):
        q, k, v = (self.heads(f"{scope}/{part}", self.linear(f"{scope}/{part}", x, WIDTH, WIDTH),
                              order) for part, order in (("q", (0, 2, 1, 3)), ("k", (0, 2, 3, 1)),
                                                         ("v", (0, 2, 1, 3))))
        scores = self.add(f"{scope}/scores", "MatMul", q, k)
        scores = self.add(f"{scope}/scores", "Mul", scores, "scale")
        scores = self.add(f"{scope}/scores", "Add", scores, "mask")
        shares = self.add(scope, "Softmax", scores, axis=-1)
        mixed = self.add(scope, "MatMul", shares, v)
        mixed = self.add(scope, "Transpose", mixed, perm=(0, 2, 1, 3))
        return self.linear(f"{scope}/proj", self.add(scope, "Reshape", mixed, "joined"), WIDTH,
                           WIDTH)

    def block(self, scope, x):
        x = self.add(f"{scope}/add1", "Add", x,
                     self.attention(f"{scope}/attn", self.norm(f"{scope}/ln1", x)))
        hidden = self.linear(f"{scope}/mlp/fc", self.norm(f"{scope}/ln2", x), WIDTH, 4 * WIDTH)
        hidden = self.add(f"{scope}/mlp/act", "Gelu", hidden)
        return self.add(f"{scope}/add2", "Add", x,
                        self.linear(f"{scope}/mlp/proj", hidden, 4 * WIDTH, WIDTH))


def transformer(blocks):
    graph = Graph()
    graph.constant("heads", (0, TOKENS, HEADS, WIDTH // HEADS))
    graph.constant("joined", (0, TOKENS, WIDTH))
    graph.constant("scale", 1 / math.sqrt(WIDTH // HEADS), numpy.float32)
    graph.constant("mask", numpy.triu(numpy.full((TOKENS, TOKENS), -1e4), 1), numpy.float32)
    x = graph.add("/embed", "Add", "x", graph.weight("position", TOKENS, WIDTH))
    for i in range(blocks):
        x = graph.block(f"/blocks.{i}", x)
    y = graph.linear("/head", graph.norm("/ln_f", x), WIDTH, CLASSES)
    described = helper.make_graph(
        graph.nodes, "transformer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", TOKENS, WIDTH])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["batch", TOKENS, CLASSES])],
        graph.weights)
    return helper.make_model(described, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


if __name__ == "__main__":
    onnx.save(transformer(int(sys.argv[2]) if len(sys.argv) > 2 else 12), sys.argv[1])
