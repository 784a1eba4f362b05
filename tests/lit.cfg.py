# The lit suites: every *.mlir and *.test file below tests/ is one test.

import os

import lit.formats

config.name = "halfstep"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)

# The project's programs first, then FileCheck, not and count.
config.environment["PATH"] = os.pathsep.join(
    [config.program_dir, config.llvm_tools, os.environ["PATH"]]
)
config.environment["PYTHONPATH"] = config.pythonpath
config.substitutions.append(("%python", config.python))
