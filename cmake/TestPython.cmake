# The Python packages of tests/requirements.txt, in the per-user cache. Defines TEST_PYTHONPATH, for
# the environment of ${Python3_EXECUTABLE}.

function(make_test_python PINS ROOT)
  execute_process(
    COMMAND ${Python3_EXECUTABLE} -m pip install --quiet --root-user-action ignore --no-deps --require-hashes
            --only-binary :all: --requirement ${PINS} --target ${ROOT}
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()

halfstep_cached(TEST_PYTHONPATH python3.${Python3_VERSION_MINOR}
                ${PROJECT_SOURCE_DIR}/tests/requirements.txt make_test_python)
