// Problem: logs go on for days; who waits for whom is known only once all ranks are read, so calls must be held until
// then. Idea: of a log longer than a bound, one collective of 2, 4, 8 ... is kept, chosen by a hash of communicator,
// operation and number. Why it is right: all ranks keep the same collectives, so each one that is kept is whole; what
// is kept is as good as random, so shares, means and trends are those of all, with the error of a sample of thousands.
// Messages have no number that both sides know: a thinned log has none.
#include "thinned_calls.h"

#include <algorithm>

namespace skewscope::ingest {
namespace {

constexpr int64_t kMostCallsOfJob = int64_t{1} << 23, kMostCallsOfRank = int64_t{1} << 18;
constexpr int64_t kLeastCallsOfRank = int64_t{1} << 14;  // 240 windows of a trend have enough of each rank

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

}  // namespace

uint64_t key_of_calls(std::string_view communicator, std::string_view operation) {
  uint64_t hash = 0;
  for (const char c : communicator) hash = mixed(hash, static_cast<unsigned char>(c));
  hash = mixed(hash, 0xff);
  for (const char c : operation) hash = mixed(hash, static_cast<unsigned char>(c));
  return hash;
}

uint64_t id_of_call(uint64_t key, int64_t number) {
  return std::max<uint64_t>(1, mixed(key, static_cast<uint64_t>(number)));
}

int64_t most_calls(int64_t ranks) {
  return std::clamp(kMostCallsOfJob / std::max<int64_t>(1, ranks), kLeastCallsOfRank, kMostCallsOfRank);
}

bool is_kept(uint64_t id, int32_t one_of) { return (mixed(id, 0) >> 32) % static_cast<uint64_t>(one_of) == 0; }

std::string thinned_words(int32_t one_of) {
  return "calls of a long log were left out: one collective in " + std::to_string(one_of) +
         " is kept, the same on all ranks, and no message; counts and sums are of these, shares and means estimate all";
}

void thin_calls(int32_t one_of, TraceFile& log) {
  LinkedTrace& linked = log.linked;
  if (linked.trace.one_of >= one_of) return;
  linked.trace.one_of = one_of;
  Column<CollectiveCall> calls;
  std::vector<OpenCall> open_calls;
  for (size_t i = 0; i < linked.trace.calls.size(); ++i) {
    const uint64_t id = linked.trace.calls[i].comms_id;
    if (id == 0 || !is_kept(id, one_of)) continue;
    calls.push_back(linked.trace.calls[i]);
    open_calls.push_back(linked.open_calls[i]);
  }
  const int64_t left_out = std::ssize(linked.trace.calls) - std::ssize(calls);
  if (left_out > 0) {
    add_finding(linked.findings,
                finding_of_file(Severity::info, kLogThinned, log.evidence.file, thinned_words(one_of), left_out));
  }
  linked.trace.calls = std::move(calls);
  linked.open_calls = std::move(open_calls);
}

}  // namespace skewscope::ingest
