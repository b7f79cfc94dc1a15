#include "matched_group.h"

#include <algorithm>

namespace skewscope::matching {
namespace {

// What processes send each other of a group; its inferred communicators are resized before they are read.
template <class Group, class Visit>
void visit_fields(Group& group, const Visit& visit) {
  visit(group.key);
  for (auto& c : group.inferred) {
    visit(c.name);
    visit(c.description);
    visit(c.members);
    visit(c.size);
  }
  visit(group.instances);
  visit(group.time_ns);
  visit(group.members);
  visit(group.spans);
  visit(group.links);
  visit(group.unmatched);
}

}  // namespace

std::vector<MatchedGroup> all_groups(std::vector<MatchedGroup> own, Exchange& exchange) {
  if (exchange.processes() == 1) return own;
  ByteWriter writer;
  for (const MatchedGroup& group : own) {
    writer.put(group.inferred.size());
    visit_fields(group, [&](const auto& field) { writer.put(field); });
  }
  own.clear();
  std::vector<MatchedGroup> all;
  for (Bytes& bytes : exchange.all_gather(writer.take())) {
    for (ByteReader reader(bytes); !reader.done();) {
      MatchedGroup& group = all.emplace_back();
      group.inferred.resize(reader.get<size_t>());
      visit_fields(group, [&](auto& field) { reader.get(field); });
    }
    bytes = Bytes();  // read, and large
  }
  std::sort(all.begin(), all.end(), [](const MatchedGroup& a, const MatchedGroup& b) { return a.key < b.key; });
  return all;
}

}  // namespace skewscope::matching
