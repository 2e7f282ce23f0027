#include "engines/cpu/register_allocator.h"

#include <algorithm>
#include <map>

namespace fusednn::engines::cpu {

namespace {

struct Life {
  int64_t first = -1, last = -1;
};

template <class F>
void for_each_place(Instruction& i, F&& f) {
  for (Place* place : {&i.dst, &i.dst2, &i.a, &i.b, &i.c})
    if (place->kind == Place::Kind::REGISTER) f(*place);
}

}  // namespace

int64_t RegisterAllocator::assign(TileProgram& program) const {
  std::vector<Life> lives(bytes_.size());
  int64_t position = 0;
  for (Pass& pass : program.passes) {
    for (bool body : {false, true}) {
      auto& list = body ? pass.body : pass.before;
      int64_t const begin = position, end = position + static_cast<int64_t>(list.size());
      for (Instruction& i : list) {
        for_each_place(i, [&](Place& place) {
          Life& life = lives[static_cast<size_t>(place.offset)];
          if (life.first < 0) life.first = position;
          // The body runs once per tile: what comes from before it must last until its end.
          life.last = std::max(life.last, body && life.first < begin ? end : position);
        });
        ++position;
      }
      ++position;
    }
  }

  std::vector<size_t> order;
  for (size_t r = 0; r < lives.size(); ++r)
    if (lives[r].first >= 0) order.push_back(r);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lives[a].first < lives[b].first; });
  std::vector<int64_t> offsets(bytes_.size(), 0);
  std::multimap<int64_t, int64_t> free;                      // size to offset
  std::multimap<int64_t, std::pair<int64_t, int64_t>> live;  // last position to size and offset
  int64_t top = 0;
  for (size_t r : order) {
    while (!live.empty() && live.begin()->first < lives[r].first) {
      free.insert(live.begin()->second);
      live.erase(live.begin());
    }
    if (auto match = free.find(bytes_[r]); match != free.end()) {
      offsets[r] = match->second;
      free.erase(match);
    } else {
      offsets[r] = top;
      top += bytes_[r];
    }
    live.insert({lives[r].last, {bytes_[r], offsets[r]}});
  }
  for (Pass& pass : program.passes)
    for (auto* list : {&pass.before, &pass.body})
      for (Instruction& i : *list)
        for_each_place(i, [&](Place& place) { place.offset = offsets[static_cast<size_t>(place.offset)]; });
  return top;
}

}  // namespace fusednn::engines::cpu
