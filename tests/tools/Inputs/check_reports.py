"""Checks the two JSON reports on mlp10: check_reports.py MEMORY PRECISION."""

import json
import sys

memory, precision = (json.load(open(path)) for path in sys.argv[1:])

assert memory["version"] == 1
assert set(memory["classes"]) == {"parameters", "masters", "half_copies", "gradients", "optimizer",
                                  "state", "activations", "workspace", "inputs", "scratch"}
assert memory["classes"]["parameters"] == 121 * 4
assert memory["peak_bytes"] == max(s["offset"] + s["bytes"] for s in memory["slices"])
assert memory["live_at_peak"]
for s in memory["slices"]:
    assert set(s) == {"name", "node", "class", "type", "offset", "bytes", "first", "last"}, s
    assert s["first"] <= s["last"], s

assert precision["version"] == 1
nodes = precision["nodes"]
for n in nodes:
    assert set(n) == {"node", "op", "pass", "operand_types", "result_types", "reason"}, n
assert nodes[0] == {"node": "/0/Gemm", "op": "train.matmul", "pass": "forward",
                    "operand_types": ["16x10xf16", "10x10xf16"], "result_types": ["16x10xf16"],
                    "reason": "category"}, nodes[0]
# Forward first, then the gradients of the same nodes, then the update: it reads 16-bit gradients.
passes = [n["pass"] for n in nodes]
assert passes == sorted(passes) and set(passes) == {"forward", "gradient", "update"}, passes
assert any(n["pass"] == "update" and "f16" in "".join(n["operand_types"]) for n in nodes)
gemms = [n["node"] for n in nodes if n["op"] == "train.matmul" and n["pass"] == "gradient"]
assert sorted(gemms) == ["/0/Gemm", "/2/Gemm", "/2/Gemm"], gemms
