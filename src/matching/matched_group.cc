#include "matched_group.h"

#include <algorithm>

namespace skewscope::matching {
namespace {

void put(ByteWriter& writer, const MatchedGroup& group) {
  writer.put(group.key);
  writer.put(group.inferred.size());
  for (const Communicator& c : group.inferred) {
    writer.put(c.name);
    writer.put(c.description);
    writer.put(c.members);
    writer.put(c.size);
  }
  writer.put(group.instances);
  writer.put(group.time_ns);
  writer.put(group.members);
  writer.put(group.spans);
  writer.put(group.links);
  writer.put(group.unmatched);
}

MatchedGroup get_group(ByteReader& reader) {
  MatchedGroup group;
  reader.get(group.key);
  group.inferred.resize(reader.get<size_t>());
  for (Communicator& c : group.inferred) {
    reader.get(c.name);
    reader.get(c.description);
    reader.get(c.members);
    reader.get(c.size);
  }
  reader.get(group.instances);
  reader.get(group.time_ns);
  reader.get(group.members);
  reader.get(group.spans);
  reader.get(group.links);
  reader.get(group.unmatched);
  return group;
}

}  // namespace

std::vector<MatchedGroup> all_groups(std::vector<MatchedGroup> own, Exchange& exchange) {
  if (exchange.processes() == 1) return own;
  ByteWriter writer;
  for (const MatchedGroup& group : own) put(writer, group);
  own.clear();
  std::vector<MatchedGroup> all;
  for (Bytes& bytes : exchange.all_gather(writer.take())) {
    for (ByteReader reader(bytes); !reader.done();) all.push_back(get_group(reader));
    bytes = Bytes();  // read, and large
  }
  std::sort(all.begin(), all.end(), [](const MatchedGroup& a, const MatchedGroup& b) { return a.key < b.key; });
  return all;
}

}  // namespace skewscope::matching
