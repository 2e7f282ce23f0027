# Language level, build types, warnings and sanitizers, for every target of the project.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(FUSEDNN_CCACHE ccache)
  if(FUSEDNN_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${FUSEDNN_CCACHE}")
  endif()
endif()

add_library(fusednn_flags INTERFACE)
target_compile_options(fusednn_flags INTERFACE -Wall -Wextra)
if(FUSEDNN_WERROR)
  target_compile_options(fusednn_flags INTERFACE -Werror)
endif()
if(FUSEDNN_SANITIZE)
  target_compile_options(fusednn_flags INTERFACE
    -fsanitize=${FUSEDNN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # GCC's flow analysis takes the instrumentation itself for a path that leaves std::variant unset.
  target_compile_options(fusednn_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(fusednn_flags INTERFACE -fsanitize=${FUSEDNN_SANITIZE})
endif()
