# What the CUDA target needs of NVIDIA's toolkit, and no more: libdevice, which kernels are linked
# with, and ptxas, which assembles them for the tests, the profile and --emit cubin. Defines LIBDEVICE
# and PTXAS, two files.

function(make_cuda_tools PINS ROOT)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -m pip download --quiet --no-deps --require-hashes
            --only-binary :all: --requirement ${PINS} --dest ${ROOT}/download
    COMMAND_ERROR_IS_FATAL ANY)
  file(GLOB archives ${ROOT}/download/*)
  foreach(archive IN LISTS archives)
    file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${ROOT}/unpacked)
  endforeach()
  file(GLOB_RECURSE files ${ROOT}/unpacked/libdevice.10.bc ${ROOT}/unpacked/ptxas
       ${ROOT}/unpacked/nvidia_nvvm*/License.txt)
  foreach(file IN LISTS files)
    file(COPY ${file} DESTINATION ${ROOT})
  endforeach()
  file(REMOVE_RECURSE ${ROOT}/download ${ROOT}/unpacked)
endfunction()

halfstep_cached(cuda_tools cuda-tools ${CMAKE_CURRENT_LIST_DIR}/cuda-tools.txt make_cuda_tools)
set(LIBDEVICE ${cuda_tools}/libdevice.10.bc)
set(PTXAS ${cuda_tools}/ptxas)
