# The rules that the folders' CMakeLists.txt are written with.

# halfstep_library(NAME SOURCES file... [LINK library...] [DEPENDS tablegen-target...])
# A folder's static library. What it links, its users link.
function(halfstep_library NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINK;DEPENDS")
  add_library(${NAME} STATIC ${ARG_SOURCES})
  target_link_libraries(${NAME} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${NAME} ${ARG_DEPENDS})
  endif()
endfunction()

# halfstep_tablegen(TARGET FILE.td OUTPUT "GENERATOR-FLAGS" [OUTPUT "GENERATOR-FLAGS"]...)
# Generates OUTPUTs of one .td file into the build folder; C++ includes them as "folder/OUTPUT".
function(halfstep_tablegen TARGET SOURCE)
  set(LLVM_TARGET_DEFINITIONS ${SOURCE})
  while(ARGN)
    list(POP_FRONT ARGN output flags)
    separate_arguments(flags)
    mlir_tablegen(${output} ${flags})
  endwhile()
  add_public_tablegen_target(${TARGET})
endfunction()

# halfstep_program(NAME SOURCES file... [LINK library...])
# A program for people: into bin, here and where it is installed.
function(halfstep_program NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LINK")
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK})
  install(TARGETS ${NAME} DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# halfstep_test(NAME file... [LIBS library...] [ON_CUDA])
# A GoogleTest program, one ctest entry. Its sources find their data under TEST_DIR.
function(halfstep_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "ON_CUDA" "" "LIBS")
  add_executable(${NAME} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${NAME} PRIVATE ${ARG_LIBS} GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE TEST_DIR="${PROJECT_SOURCE_DIR}/tests")
  set_target_properties(${NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/bin)
  halfstep_add_test(${NAME} "${ARG_ON_CUDA}" "" COMMAND ${NAME})
endfunction()

# halfstep_script_test(NAME FILE.py [argument...] [ON_CUDA])
# A Python script that runs the programs, one ctest entry.
function(halfstep_script_test NAME SCRIPT)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "ON_CUDA" "" "")
  string(CONCAT environment
    "PATH=path_list_prepend:${CMAKE_RUNTIME_OUTPUT_DIRECTORY};"
    "PYTHONPATH=path_list_prepend:${TEST_PYTHONPATH};"
    "PYTHONPATH=path_list_prepend:${PROJECT_SOURCE_DIR}/tests")
  halfstep_add_test(${NAME} "${ARG_ON_CUDA}" "${environment}"
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${SCRIPT} ${ARG_UNPARSED_ARGUMENTS})
endfunction()

# halfstep_add_test(NAME ON_CUDA ENVIRONMENT-MODIFICATION COMMAND...)
# With ON_CUDA, also as NAME-cuda, whose steps are CUDA's (tests/Device.h).
function(halfstep_add_test NAME ON_CUDA ENVIRONMENT)
  add_test(NAME ${NAME} ${ARGN})
  set_tests_properties(${NAME} PROPERTIES ENVIRONMENT_MODIFICATION "${ENVIRONMENT}")
  if(ON_CUDA)
    add_test(NAME ${NAME}-cuda ${ARGN})
    set_tests_properties(${NAME}-cuda PROPERTIES LABELS device ENVIRONMENT_MODIFICATION
      "${ENVIRONMENT};HALFSTEP_TEST_TARGET=set:cuda")
  endif()
endfunction()
