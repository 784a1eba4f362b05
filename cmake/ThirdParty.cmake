# What is not in Debian: onnx (built from source as a static library against Debian's protobuf) and
# oneDNN (headers for the runtime, which loads the shared library only where a plan uses it).
# Fetched and built once into a per-user cache outside the tree. Defines the target ONNX::onnx and
# HALFSTEP_ONEDNN_ROOT, a folder with include/ and lib/libdnnl.so.3.

find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(Protobuf REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)

set(pins ${CMAKE_CURRENT_LIST_DIR}/third-party.txt)
set(user_cache $ENV{XDG_CACHE_HOME})
if(NOT user_cache)
  set(user_cache $ENV{HOME}/.cache)
endif()
file(SHA256 ${pins} key)
string(SUBSTRING ${key} 0 12 key)
set(root ${user_cache}/halfstep/${key})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${pins})

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

function(build_third_party ROOT)
  set(work ${ROOT}.part)
  file(REMOVE_RECURSE ${work})
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -m pip download --quiet --no-deps --require-hashes
            --no-binary onnx --requirement ${pins} --dest ${work}/download
    COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB archives ${work}/download/*)
  foreach(archive IN LISTS archives)
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${work}/unpacked)
  endforeach()

  file(GLOB onednn ${work}/unpacked/onednn_*.data/data)
  foreach(part IN LISTS onednn)
    file(COPY ${part}/ DESTINATION ${work}/onednn
         PATTERN cmake EXCLUDE PATTERN libdnnl.so EXCLUDE PATTERN libdnnl.so.3.2 EXCLUDE)
  endforeach()

  file(GLOB onnx ${work}/unpacked/onnx-*)
  build_onnx(${onnx} ${work}/onnx)

  file(REMOVE_RECURSE ${work}/download ${work}/unpacked)
  file(RENAME ${work} ${ROOT})
endfunction()

file(LOCK ${user_cache}/halfstep DIRECTORY GUARD FILE)
if(NOT EXISTS ${root})
  message(STATUS "Building onnx and unpacking oneDNN, once, into ${root} (some minutes)")
  build_third_party(${root})
endif()

find_package(ONNX REQUIRED CONFIG PATHS ${root}/onnx NO_DEFAULT_PATH)
set(HALFSTEP_ONEDNN_ROOT ${root}/onednn)
