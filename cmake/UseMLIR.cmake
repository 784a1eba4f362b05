# MLIR 19 and its build rules. Debian's package exports include paths of the machine that built it;
# mlir_tablegen reads those of the folder that calls it, hence include_directories.

find_package(MLIR 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
separate_arguments(definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${definitions})
