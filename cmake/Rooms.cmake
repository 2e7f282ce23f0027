# A room is one folder under src/, built as one object library. All rooms together make the shared library.

# fusednn_room(NAME SOURCES <files> [ROOMS <rooms used>] [LIBS <libraries>])
# ROOMS names the lower rooms whose functions this one calls; tests of a room link them too.
function(fusednn_room name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;ROOMS;LIBS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
    message(FATAL_ERROR "fusednn_room(${name}): bad arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target fusednn_${name})
  add_library(${target} OBJECT ${arg_SOURCES})
  target_compile_definitions(${target} PRIVATE FUSEDNN_BUILDING)
  target_include_directories(${target} PUBLIC
    "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/kernels")
  target_link_libraries(${target} PUBLIC ${arg_LIBS} fmt::fmt PRIVATE fusednn_flags)
  set_property(GLOBAL APPEND PROPERTY FUSEDNN_ROOMS ${name})
  set_property(GLOBAL PROPERTY FUSEDNN_ROOM_USES_${name} ${arg_ROOMS})
endfunction()

# The rooms given and every room that they use, each once.
function(fusednn_room_closure out)
  set(pending ${ARGN})
  set(closed)
  get_property(known GLOBAL PROPERTY FUSEDNN_ROOMS)
  while(pending)
    list(POP_FRONT pending room)
    if(NOT room IN_LIST known)
      message(FATAL_ERROR "unknown room: ${room}")
    endif()
    if(NOT room IN_LIST closed)
      list(APPEND closed ${room})
      get_property(uses GLOBAL PROPERTY FUSEDNN_ROOM_USES_${room})
      list(APPEND pending ${uses})
    endif()
  endwhile()
  set(${out} ${closed} PARENT_SCOPE)
endfunction()

function(fusednn_shared_library)
  get_property(rooms GLOBAL PROPERTY FUSEDNN_ROOMS)
  add_library(fusednn SHARED)
  add_library(fusednn::fusednn ALIAS fusednn)
  foreach(room IN LISTS rooms)
    target_link_libraries(fusednn PRIVATE fusednn_${room})
  endforeach()
  target_include_directories(fusednn PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:include>")
  target_compile_features(fusednn PUBLIC cxx_std_17)
  set(map "${PROJECT_SOURCE_DIR}/cmake/fusednn.map")
  target_link_options(fusednn PRIVATE "LINKER:--version-script=${map}")
  set_target_properties(fusednn PROPERTIES
    LINKER_LANGUAGE CXX
    LINK_DEPENDS "${map}"
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  if(NOT FUSEDNN_SANITIZE)
    target_link_options(fusednn PRIVATE "LINKER:--no-undefined")
  endif()
endfunction()
