# The per-user cache, outside the tree: what is made once from pinned packages lives there.

set(HALFSTEP_CACHE $ENV{XDG_CACHE_HOME})
if(NOT HALFSTEP_CACHE)
  set(HALFSTEP_CACHE $ENV{HOME}/.cache)
endif()
string(APPEND HALFSTEP_CACHE /halfstep)

# halfstep_cached(RESULT NAME PINS MAKE)
# Sets RESULT to the folder that MAKE(PINS folder) filled from the requirements file PINS. The entry
# is keyed by that file and appears only when complete; concurrent configurations wait.
function(halfstep_cached RESULT NAME PINS MAKE)
  file(SHA256 ${PINS} hash)
  string(SUBSTRING ${hash} 0 12 hash)
  set(entry ${HALFSTEP_CACHE}/${NAME}-${hash})
  file(LOCK ${HALFSTEP_CACHE} DIRECTORY GUARD FUNCTION)
  if(NOT EXISTS ${entry})
    message(STATUS "Making ${entry}, once")
    file(REMOVE_RECURSE ${entry}.part)
    cmake_language(CALL ${MAKE} ${PINS} ${entry}.part)
    file(RENAME ${entry}.part ${entry})
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PINS})
  set(${RESULT} ${entry} PARENT_SCOPE)
endfunction()
