#include "jit/kernel_image.h"

#include <cctype>
#include <charconv>
#include <string_view>

namespace fusednn::jit {

namespace {

template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    size_t const end = std::min(text.find('\n'), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// The number that stands before `what`, or 0.
int number_before(std::string_view line, std::string_view what) {
  size_t const at = line.find(what);
  if (at == line.npos) return 0;
  size_t from = at;
  while (from > 0 && std::isdigit(static_cast<unsigned char>(line[from - 1]))) --from;
  int number = 0;
  std::from_chars(line.data() + from, line.data() + at, number);
  return number;
}

}  // namespace

std::vector<std::string> serialisation_remarks(std::string const& log) {
  std::vector<std::string> remarks;
  for_each_line(log, [&](std::string_view line) {
    size_t const at = line.find("C75");
    if (at != line.npos && at + 5 <= line.size() && std::isdigit(static_cast<unsigned char>(line[at + 3])) &&
        std::isdigit(static_cast<unsigned char>(line[at + 4])))
      remarks.emplace_back(line);
  });
  return remarks;
}

std::vector<EntryResources> resources(std::string const& log) {
  std::vector<EntryResources> list;
  for_each_line(log, [&](std::string_view line) {
    static constexpr std::string_view head = "Compiling entry function '";
    if (size_t const at = line.find(head); at != line.npos) {
      size_t const from = at + head.size();
      list.emplace_back().entry = line.substr(from, line.find('\'', from) - from);
    }
    if (list.empty()) return;
    EntryResources& r = list.back();
    if (line.find("bytes stack frame") != line.npos) {
      r.stack_bytes = number_before(line, " bytes stack frame");
      r.spill_store_bytes = number_before(line, " bytes spill stores");
      r.spill_load_bytes = number_before(line, " bytes spill loads");
    }
    if (line.find("Used ") != line.npos) {
      r.registers = number_before(line, " registers");
      r.shared_bytes = number_before(line, " bytes smem");
    }
  });
  return list;
}

}  // namespace fusednn::jit
