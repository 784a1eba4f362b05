"""Counts the faults that the tests would notice: scripts/mutate GROUP [--sample N] [--folder DIR].

A copy of the tree is built once with every mutant of the group's sources in it (mutants.py), after
those that do not compile are dropped. Each test runs once to record which mutants it reaches; then
each mutant runs the tests that reach it until one fails, which catches it. The report has a line
for every mutant; those that survivors.txt knows as equivalent do not count. After Untch, Offutt and
Harrold, "Mutation analysis using mutant schemata" (1993).
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

import mutants
from units import units_of

TREE = pathlib.Path(__file__).resolve().parents[2]

# Sources; tests, by their names in ctest, and the targets that they need.
GROUPS = {
    "kernels": (["codegen/EmitCuda*.cpp", "codegen/Cuda*.cpp", "codegen/KernelBuilder.cpp",
                 "codegen/KernelForm.cpp"],
                "codegen-(emulated|kernels|table)|lit-codegen",
                ["codegen-emulated", "codegen-kernels", "codegen-table", "halfstep",
                 "halfstep-opt"]),
    "memory": (["codegen/Table.cpp", "passes/ProgramPlanner.cpp", "passes/PlanMemory.cpp",
                "passes/InPlaceKernels.cpp", "passes/OrderEntries.cpp"],
               "lit-(passes|codegen)|.*memory.*_test|codegen-table|optimizer_test|half_update_test",
               ["plan_memory_test", "memory_plan_test", "memory_report_test", "codegen-table",
                "optimizer_test", "half_update_test", "halfstep", "halfstep-opt"]),
    "host": (["runtime/cuda/*.cpp"],
             "runtime-(cuda_(backend|gemm)|emulated_.*)|codegen-table|optimizer_test-cuda",
             ["runtime-cuda_backend", "runtime-cuda_gemm", "runtime-emulated_blas",
              "runtime-emulated_driver", "runtime-emulated_kernel", "runtime-emulated_streams",
              "runtime-emulated_warp", "codegen-table", "optimizer_test", "halfstep"]),
    "passes": (["passes/*.cpp"],
               "lit-passes|contracted_order_test|details_test|memory_plan_test|recipe_test|"
               "memory_report_test|plan_memory_test|precision_types_test|refusals_test|"
               "reproducer_test|optimizer_test|half_update_test",
               ["contracted_order_test", "details_test", "memory_plan_test", "recipe_test",
                "memory_report_test", "plan_memory_test", "precision_types_test",
                "refusals_test", "reproducer_test", "optimizer_test", "half_update_test",
                "halfstep", "halfstep-opt"]),
}


def copy_tree(target):
    """The files that git knows or would take; only what differs is written anew."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=TREE, check=True,
                            capture_output=True, text=True).stdout.split("\n")
    for name in filter(None, listed):
        source, copy = TREE / name, target / name
        if source.is_file() and not (copy.exists() and copy.read_bytes() == source.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)
    # lit hides the environment from its tests.
    with open(target / "tests/lit.cfg.py", "a") as config:
        config.write("\nconfig.environment.update({k: v for k, v in os.environ.items()\n"
                     '                           if k.startswith("HALFSTEP_MUTANT")})\n')


def find_mutants(patterns):
    sources, number = [], 0
    for path in sorted(path for pattern in patterns for path in TREE.glob(pattern)):
        source = mutants.Source(str(path.relative_to(TREE)), path.read_text())
        for mutant in source.mutants:
            number += 1
            mutant.number = number
        sources.append(source)
    return sources


def write_sources(sources, tree):
    """Writes the sources with their mutants; returns the range of each, by file."""
    ranges = {}
    for source in sources:
        text, ranges[source.name] = source.render()
        text = ('#include "tests/mutation/Mutant.h"\n'
                '#pragma clang diagnostic ignored "-Wc++11-narrowing"\n#line 1\n' + text)
        path = tree / source.name
        if path.read_text() != text:
            path.write_text(text)
    return ranges


def blamed(output, source, ranges):
    """The mutants of `source` that the compiler's errors are about: the innermost at the place of
    an error or of the first note in the file, else all in its line."""
    text, places = source.render()[0], ranges[source.name]
    starts = [0] + [match.end() for match in re.finditer("\n", text)]
    numbers = set()
    for error in re.split(r"^(?=\S+:\d+:\d+: (?:fatal )?error:)", output, flags=re.M)[1:]:
        found = re.findall(rf"^\S*{re.escape(source.name)}:(\d+):(\d+):", error, re.M)
        inside = [(end - begin, number) for line, column in found
                  for number, (begin, end) in places.items()
                  if begin <= starts[int(line) - 1] + int(column) - 1 < end]
        in_line = [number for line, _ in found[:1] for number, (begin, end) in places.items()
                   if begin < (starts + [len(text)])[int(line)] and end > starts[int(line) - 1]]
        numbers.update([min(inside)[1]] if inside else in_line)
    return numbers


def build(sources, folder, targets):
    """Builds the copy; drops the mutants that do not compile."""
    tree, binary = folder / "tree", folder / "tree/build/mutants"
    # All errors of a file at once; as a flag, this would have ccache compile the other files anew.
    environment = os.environ | {"CCACHE_BASEDIR": str(tree), "CCACHE_NOHASHDIR": "1",
                                "CCC_OVERRIDE_OPTIONS": "#+-ferror-limit=0"}
    subprocess.run(["cmake", "-S", tree, "-B", binary, "-G", "Ninja",
                    "-DCMAKE_BUILD_TYPE=Release"],
                   check=True, stdout=subprocess.DEVNULL, env=environment)
    for _ in range(20):
        ranges = write_sources(sources, tree)
        done = subprocess.run(["ninja", "-C", binary, "-k0", "-j2", *targets], capture_output=True,
                              text=True, env=environment)
        if done.returncode == 0:
            return
        dropped = 0
        for source in sources:
            numbers = blamed(done.stdout, source, ranges)
            dropped += len(numbers)
            source.mutants = [m for m in source.mutants if m.number not in numbers]
        print(f"{dropped} mutants do not compile", flush=True)
        if not dropped:
            sys.exit(done.stdout[-5000:])
    sys.exit("the mutants still do not compile")


def record_reach(units, count, folder):
    """Runs every test on the unchanged program; those that pass know what they reach."""
    good = []
    for unit in units:
        map_file = folder / "reached"
        map_file.write_bytes(bytes(count + 1))
        if failure := unit.run({"HALFSTEP_MUTANTS_REACHED": str(map_file)}, timeout=600):
            print(f"left out, since it fails without a mutant: {unit.name}: {failure}", flush=True)
            continue
        unit.reached = {n for n, byte in enumerate(map_file.read_bytes()) if byte}
        if unit.reached:
            good.append(unit)
    return good


def judge(mutant, units, catches):
    """What catches the mutant, or None. Tests that caught its neighbours come first."""
    reaching = [unit for unit in units if mutant.number in unit.reached]
    for unit in sorted(reaching, key=lambda unit: (-catches[unit.name], unit.seconds)):
        if failure := unit.run({"HALFSTEP_MUTANT": str(mutant.number)}, 10 + 10 * unit.seconds):
            catches[unit.name] += 1
            return f"{unit.name}: {failure}"
    return None if reaching else "not reached"


def read_survivors():
    """The equivalent mutants and why they are: a line as in the report, then an indented one."""
    known, signature = {}, None
    for line in (TREE / "tests/mutation/survivors.txt").read_text().splitlines():
        if line.startswith("    "):
            known[signature] = line.strip()
        elif line and not line.startswith("#"):
            signature = line
    return known


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("--sample", type=int,
                        help="how many mutants to run, chosen by a fixed seed")
    parser.add_argument("--folder", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "halfstep-mutants")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    patterns, tests, targets = GROUPS[arguments.group]
    folder = arguments.folder / arguments.group
    copy_tree(folder / "tree")
    sources = find_mutants(patterns)
    count = sum(len(source.mutants) for source in sources)
    build(sources, folder, targets)
    units = record_reach(units_of(folder / "tree/build/mutants", tests), count, folder)
    chosen = [(source, mutant) for source in sources for mutant in source.mutants]
    print(f"{len(chosen)} mutants, {len(units)} tests reach some", flush=True)
    # In no order, so that what is judged at any time is a sample of all.
    random.Random(1).shuffle(chosen)
    chosen = chosen[:arguments.sample]
    equivalent = read_survivors()
    catches = collections.defaultdict(collections.Counter)
    counts = collections.Counter()

    def run(pair):
        source, mutant = pair
        if source.signature(mutant) in equivalent:
            return "equivalent", equivalent[source.signature(mutant)]
        caught = judge(mutant, units, catches[source.name])
        return ("survived", caught or "") if caught in (None, "not reached") else ("caught", caught)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool, \
            open(folder / "report.txt", "w") as report:
        for (source, mutant), (verdict, why) in zip(chosen, pool.map(run, chosen)):
            counts[verdict] += 1
            report.write(f"{verdict}\t{mutant.kind}\t{source.line(mutant)}\t"
                         f"{source.signature(mutant)}\t{why}\n")
            report.flush()
    judged = counts["caught"] + counts["survived"]
    print(f"{arguments.group}: {sum(counts.values())} mutants, {counts['caught']} caught, "
          f"{counts['equivalent']} equivalent, {counts['survived']} survived: "
          f"{100 * counts['caught'] / max(1, judged):.1f} %; {folder}/report.txt")


if __name__ == "__main__":
    main()
