# How every file of the project is compiled and linked.

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")

# No contraction: where the project wants a fused multiply-add, it writes fma, so that clang and g++
# (whose defaults differ) give the same bits.
add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffp-contract=off)

option(HALFSTEP_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
if(HALFSTEP_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

# The unversioned lld of Debian 12 is version 14: always by its full name.
find_program(LLD ld.lld-19)
if(LLD AND CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  add_link_options(--ld-path=${LLD})
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
