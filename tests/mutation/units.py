"""The tests of a build folder in the smallest pieces that run alone: a case of a GoogleTest
program, a file of a lit suite, a script."""

import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import time


@dataclasses.dataclass
class Unit:
    name: str
    command: list
    environment: dict
    seconds: float = 0.0
    reached: set = dataclasses.field(default_factory=set)

    def run(self, environment, timeout):
        """Nothing where it passes, else what it says."""
        start = time.monotonic()
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", start_new_session=True,
                                   env=os.environ | self.environment | environment)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "does not end"
        if "HALFSTEP_MUTANT" not in environment:
            self.seconds = time.monotonic() - start
        return diagnosis(output) if process.returncode else None


def diagnosis(output):
    """The line of a failed test's output that says most."""
    lines = [line.strip() for line in output.splitlines()]
    for pattern in (r"\berror: ", r"^(what|unknown file|.*Failure)\b", r"PLEASE submit", r"\S"):
        for number, line in enumerate(lines):
            if re.search(pattern, line) and not line.startswith(
                ("Note: Google Test", "Running main")):
                return " ".join(lines[number:number + 2])[:200]
    return "fails"


def environment_of(properties):
    """What a test's ENVIRONMENT and ENVIRONMENT_MODIFICATION make of the environment."""
    result = {}
    for entry in properties.get("ENVIRONMENT", []):
        name, _, value = entry.partition("=")
        result[name] = value
    for entry in properties.get("ENVIRONMENT_MODIFICATION", []):
        name, _, change = entry.partition("=")
        operation, _, value = change.partition(":")
        old = result.get(name, os.environ.get(name))
        result[name] = f"{value}{os.pathsep}{old}" if operation != "set" and old else value
    return result


def units_of(binary, pattern):
    """The units of the tests whose ctest names match."""
    listed = subprocess.run(["ctest", "--test-dir", binary, "--show-only=json-v1"], check=True,
                            capture_output=True, text=True).stdout
    units = []
    for test in json.loads(listed)["tests"]:
        name, command = test["name"], test.get("command")
        if not command or not re.fullmatch(pattern, name):
            continue
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        environment = environment_of(properties)
        if any(part.endswith("lit.py") for part in command):
            folder = pathlib.Path(command[-1])
            sources = pathlib.Path(binary).parents[1] / "tests" / folder.name
            for file in sorted([*sources.glob("*.mlir"), *sources.glob("*.test")]):
                units.append(Unit(f"{name} {file.name}", [*command[:-1], str(folder / file.name)],
                                  environment))
        elif "tests/bin" in command[0]:
            cases = subprocess.run([*command, "--gtest_list_tests"], check=True, text=True,
                                   capture_output=True, env=os.environ | environment).stdout
            for line in cases.splitlines():
                case = line.split("#")[0].rstrip()
                if case.endswith(".") and not line.startswith(" "):
                    suite = case
                elif line.startswith("  "):
                    full = suite + case.strip()
                    units.append(Unit(f"{name} {full}", [*command, f"--gtest_filter={full}"],
                                      environment))
        else:
            units.append(Unit(name, command, environment))
    return units
