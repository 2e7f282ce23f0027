# cmake -D PROGRAM=<example> -D FILE=<graph.json> -P compare_graph.cmake
# Fails where the graph that the program prints is not the one in the file.
execute_process(COMMAND "${PROGRAM}" --json OUTPUT_VARIABLE printed COMMAND_ERROR_IS_FATAL ANY)
file(READ "${FILE}" stored)
foreach(text IN ITEMS printed stored)
  string(JSON ${text} REMOVE "${${text}}" fusednn_version)
endforeach()
string(JSON same EQUAL "${printed}" "${stored}")
if(NOT same)
  message(FATAL_ERROR "${FILE} differs from what ${PROGRAM} --json prints; store that text there")
endif()
