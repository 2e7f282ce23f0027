include(GoogleTest)

# gtest_discover_tests flattens lists, so labels are set by a script that ctest reads after its own.
function(fusednn_label_tests target)
  set(labels "${ARGN}")
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake")
  file(CONFIGURE OUTPUT "${script}" @ONLY CONTENT [[
foreach(test IN LISTS @target@_TESTS)
  set_tests_properties("${test}" PROPERTIES LABELS "@labels@")
endforeach()
]])
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${script}")
endfunction()

# fusednn_test(NAME SOURCES <files> (ROOMS <rooms> | API) [PREFIX <p>] [LABELS <unit|graph|concurrency>] [LIBS ...])
# Internal tests link the object libraries of the rooms named and of the rooms those use; an API test sees the
# public headers and the shared library alone. ctest names are <PREFIX>.<Suite>.<Case>; PREFIX defaults to NAME.
# Building the target tests_<label> builds every test that carries the label.
function(fusednn_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "API" "PREFIX" "SOURCES;ROOMS;LABELS;LIBS")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES OR (arg_API AND arg_ROOMS) OR NOT (arg_API OR arg_ROOMS))
    message(FATAL_ERROR "fusednn_test(${name}): needs SOURCES and one of ROOMS and API")
  endif()
  if(NOT arg_PREFIX)
    set(arg_PREFIX ${name})
  endif()
  if(NOT arg_LABELS)
    set(arg_LABELS unit)
  endif()
  set(target test_${name})
  add_executable(${target} ${arg_SOURCES})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(${target} PRIVATE FUSEDNN_TEST_DATA="${PROJECT_SOURCE_DIR}/tests")
  if(arg_API)
    target_link_libraries(${target} PRIVATE fusednn)
  else()
    fusednn_room_closure(rooms ${arg_ROOMS})
    list(TRANSFORM rooms PREPEND fusednn_)
    target_link_libraries(${target} PRIVATE ${rooms})
  endif()
  target_link_libraries(${target} PRIVATE ${arg_LIBS} GTest::gtest_main GTest::gmock fusednn_flags)
  gtest_discover_tests(${target}
    TEST_PREFIX "${arg_PREFIX}."
    DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT 300)
  fusednn_label_tests(${target} ${arg_LABELS})
  foreach(label IN LISTS arg_LABELS)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} ${target})
  endforeach()
endfunction()
