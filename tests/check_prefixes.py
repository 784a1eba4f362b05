"""Finds FileCheck directives that FileCheck would ignore.

FileCheck reads a line only if it starts with a prefix that the RUN line names and ends in a suffix
that it knows: `CHEK:`, `CHECK-NXT:` and `FP32:` without `--check-prefix=FP32` pass silently. This
script refuses what looks like a directive and is not one, and a prefix that no line uses. It also
wants each file to open with a sentence that says what it shows.

usage: check_prefixes.py FOLDER
"""

import pathlib
import re
import sys

# A comment that holds one capitalised word and a colon, or a word close to CHECK without its colon.
DIRECTIVE = re.compile(r"^\s*(?://|#|;)\s*([A-Z][A-Z0-9_-]*)(\{LITERAL\})?\s*:")
SUFFIX = r"(-(NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-[1-9][0-9]*))?"
NO_COLON = re.compile(r"^\s*(?://|#|;)\s*CHECK\S*(\s|$)")
OTHER_KEYWORDS = {"RUN", "DEFINE", "REDEFINE", "REQUIRES", "END", "COM"}


def prefixes_of(run_lines):
    """The prefixes that the FileCheck calls of RUN lines read."""
    prefixes = set()
    for call in re.split(r"[|;&]", run_lines):
        if not re.search(r"\bFileCheck\b", call):
            continue
        named = re.findall(r"--?check-prefix(?:es)?[= ](\S+)", call)
        prefixes.update(p for group in named for p in group.split(","))
        if not named:
            prefixes.add("CHECK")
    return prefixes


def opens_with_intent(lines):
    """Whether a sentence stands in front of the first RUN line."""
    opening = []
    for line in lines:
        match = re.match(r"\s*(?://|#)\s*(\S.*)", line)
        if not match or re.match(r"[A-Z][A-Z0-9_-]*:", match[1]):
            break
        opening.append(match[1])
    return bool(re.match(r"[\w@`'-].* .*\.$", " ".join(opening)))


def faults(path):
    lines = path.read_text().splitlines()
    if not opens_with_intent(lines):
        yield f"{path}:1: does not open with a sentence of what it shows"
    run = " ".join(re.sub(r".*?RUN:", "", l).rstrip("\\") + (
        "" if l.rstrip().endswith("\\") else " ; ") for l in lines if "RUN:" in l)
    prefixes = prefixes_of(run)
    used = set()
    for number, line in enumerate(lines, 1):
        if match := DIRECTIVE.match(line):
            word = match[1]
            prefix = next((p for p in prefixes if re.fullmatch(re.escape(p) + SUFFIX, word)), None)
            if prefix:
                used.add(prefix)
            elif word not in OTHER_KEYWORDS:
                yield f"{path}:{number}: '{word}:' is no directive of this file's RUN lines"
        elif NO_COLON.match(line):
            yield f"{path}:{number}: a CHECK without its colon"
    for prefix in sorted(prefixes - used):
        yield f"{path}: no line uses the prefix {prefix}"
    if not run:
        yield f"{path}: no RUN line"


def main():
    root = pathlib.Path(sys.argv[1])
    files = [p for suffix in ("mlir", "test") for p in root.rglob(f"*.{suffix}")
             if "Inputs" not in p.parts]
    found = [fault for path in sorted(files) for fault in faults(path)]
    print("\n".join(found) or f"{len(files)} files: every prefix is read")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
