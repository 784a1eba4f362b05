"""Checks that the tests which REPORTS.md names exist.

Every row names at least one test or says `None: why`.

usage: check_reports.py FOLDER
"""

import pathlib
import re
import sys

ROW = re.compile(r"^\| (R\d+) \|.*\| ([^|]*) \|$")


def exists(folder, test):
    """`file: name`, where the name is Suite.Test in C++ and a method in Python; or a file alone."""
    path, _, name = test.partition(": ")
    file = folder / path
    if not file.is_file():
        return False
    if not name:
        return file.suffix in (".mlir", ".test")
    text = file.read_text()
    if file.suffix == ".py":
        return f"def {name}(" in text
    suite, _, case = name.partition(".")
    return re.search(rf"\bTEST(_[FP])?\({suite},\s*{case}\)", text) is not None


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = [match for line in (folder / "REPORTS.md").read_text().splitlines()
            if (match := ROW.match(line))]
    faults = [] if rows else ["REPORTS.md has no rows"]
    for number, cell in (row.groups() for row in rows):
        tests = re.findall(r"`([^`]+)`", cell)
        if cell.startswith("None: "):
            continue
        if not tests:
            faults.append(f"{number} names no test and no reason")
        faults += [f"{number}: there is no {test}" for test in tests if not exists(folder, test)]
    print("\n".join(faults) or f"{len(rows)} reports: every test exists")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
