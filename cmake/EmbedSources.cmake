# cmake -DROOT=<folder> -DFILES=<paths below it> -DOUT=<file.cpp> -P EmbedSources.cmake
# Writes a C++ file that holds the named files as strings.

set(rows "")
foreach(name IN LISTS FILES)
  file(READ "${ROOT}/${name}" text)
  if(text MATCHES "\\)fusednn_source\"")
    message(FATAL_ERROR "${name} contains the delimiter of the strings it is embedded in")
  endif()
  string(APPEND rows "    {\"${name}\", R\"fusednn_source(${text})fusednn_source\"},\n")
endforeach()

file(WRITE "${OUT}" "#include \"jit/embedded.h\"

namespace fusednn::jit {

namespace {

constexpr EmbeddedFile files[] = {
${rows}};

}  // namespace

std::span<EmbeddedFile const> embedded_files() { return files; }

}  // namespace fusednn::jit
")
