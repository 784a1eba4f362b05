"""Checks two profiles of mlp10: check_profiles.py CPU CUDA, the latter in two micro-batches."""

import json
import sys

cpu, cuda = (json.load(open(path)) for path in sys.argv[1:])
COST = {"bytes_read", "bytes_written", "flops"}
GENERATED = {"kernel", "blocks", "threads", "registers", "shared_bytes", "spill_bytes"}

for profile, target, runs in ((cpu, "cpu", 1), (cuda, "sm_80", 2)):
    assert set(profile) == {"version", "target", "programs", "step"}, profile.keys()
    assert (profile["version"], profile["target"]) == (1, target)
    programs = {p["program"]: p["entries"] for p in profile["programs"]}
    assert set(programs) <= {"init", "micro", "update", "evaluate", "infer"}
    step = [e for name, times in (("micro", runs), ("update", 1)) for e in programs[name] * times]
    assert profile["step"]["entries"] == len(step)
    for key in COST:
        assert profile["step"][key] == sum(e[key] for e in step), key
    for entry in (e for entries in programs.values() for e in entries):
        keys = {"name", "nodes"} | COST
        if target != "cpu":
            keys |= {"time"} | (GENERATED if entry["name"] != "copy" else set())
        assert set(entry) == keys, entry

for device in ("A100", "H100", "H200"):
    entries = [e for p in cuda["programs"] for e in p["entries"]]
    assert all(0 < e["time"][device] < 1e-6 for e in entries)
# Memory is what bounds so small a step.
gemm = next(e for p in cuda["programs"] if p["program"] == "infer" for e in p["entries"])
moved = gemm["bytes_read"] + gemm["bytes_written"]
assert abs(gemm["time"]["A100"] / (moved / 2039e9) - 1) < 1e-12, gemm
assert all(e["spill_bytes"] == 0 for e in entries if "kernel" in e)
