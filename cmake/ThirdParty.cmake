# What the project is built on beside LLVM. Not in Debian are onnx, built here from source as a
# static library against Debian's protobuf, and oneDNN: headers for the runtime, which loads the
# shared library only where a plan uses it. Defines the target ONNX::onnx and HALFSTEP_ONEDNN_ROOT,
# a folder with include/ and lib/libdnnl.so.3.

find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)

include(Cache)

# Builds the onnx source tree SOURCE and installs it under PREFIX.
function(build_onnx SOURCE PREFIX)
  # Asks for CMake 3.26 and works with Debian's 3.25.
  file(READ ${SOURCE}/CMakeLists.txt text)
  string(REPLACE "VERSION 3.26" "VERSION 3.25" text "${text}")
  file(WRITE ${SOURCE}/CMakeLists.txt "${text}")
  execute_process(
    COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${SOURCE}/build -G Ninja
            -DCMAKE_BUILD_TYPE=Release
            -DCMAKE_CXX_COMPILER=${CMAKE_CXX_COMPILER}
            -DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}
            -DCMAKE_INSTALL_PREFIX=${PREFIX} -DCMAKE_INSTALL_LIBDIR=lib
            -DCMAKE_POSITION_INDEPENDENT_CODE=ON
            -DONNX_BUILD_PYTHON=OFF -DONNX_USE_PROTOBUF_SHARED_LIBS=ON
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${SOURCE}/build --target install
                  COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

# Downloads what PINS names; makes ROOT/onnx and ROOT/onednn.
function(make_third_party PINS ROOT)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -m pip download --quiet --no-deps --require-hashes
            --no-binary onnx --requirement ${PINS} --dest ${ROOT}/download
    COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB archives ${ROOT}/download/*)
  foreach(archive IN LISTS archives)
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${ROOT}/unpacked)
  endforeach()

  # The wheels hold three copies of the library, under the names that are links elsewhere.
  file(GLOB onednn ${ROOT}/unpacked/onednn_*.data/data)
  foreach(part IN LISTS onednn)
    file(COPY ${part}/ DESTINATION ${ROOT}/onednn
         PATTERN cmake EXCLUDE PATTERN libdnnl.so EXCLUDE PATTERN libdnnl.so.3.2 EXCLUDE)
  endforeach()

  file(GLOB onnx ${ROOT}/unpacked/onnx-*)
  build_onnx(${onnx} ${ROOT}/onnx)
  file(REMOVE_RECURSE ${ROOT}/download ${ROOT}/unpacked)
endfunction()

halfstep_cached(third_party third-party ${CMAKE_CURRENT_LIST_DIR}/third-party.txt make_third_party)
find_package(ONNX REQUIRED CONFIG PATHS ${third_party}/onnx NO_DEFAULT_PATH)
set(HALFSTEP_ONEDNN_ROOT ${third_party}/onednn)
