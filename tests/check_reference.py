"""The generated reference says something of every op and pass.

usage: check_reference.py ROOT REFERENCE
"""

import pathlib
import re
import sys

from check_untested import ops, passes

# What mlir-tblgen writes by itself.
GENERATED = re.compile(r"^(_?Traits: |Interfaces: |Effects: |Syntax:|operation ::=).*$", re.M)


def sections(folder):
    """What stands between the heading of each op or pass and its tables, by its name."""
    found = {}
    for path in folder.glob("*.md"):
        for part in re.split(r"^###? `-?", path.read_text(), flags=re.M)[1:]:
            name, text = part.split("`", 1)
            text = re.split(r"^####? ", text.split("\n", 1)[1], flags=re.M)[0]
            text = re.sub(r"Syntax:\s*```.*?```", "", text, flags=re.S)
            found[name] = GENERATED.sub("", text).strip()
    return found


def main():
    root, reference = map(pathlib.Path, sys.argv[1:])
    found = sections(reference)
    names = [*ops(root), *passes(root)]
    faults = [f"{path.relative_to(root)}: {name} has no description"
              for path, name in names if not found.get(name)]
    print("\n".join(faults) or f"{len(names)} ops and passes are described")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
