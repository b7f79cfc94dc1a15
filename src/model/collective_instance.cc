#include "skewscope/model/collective_instance.h"

#include <algorithm>
#include <tuple>

namespace skewscope {
namespace {

// Marks the call as placed, where its trace is held here; says what is wrong with the reference.
std::string place(CallRef ref, const JobTrace& job, std::vector<std::vector<bool>>& placed) {
  if (!ref.trace.known() || ref.trace.index() >= job.traces.size()) return "refers to no trace";
  if (!job.holds(ref.trace)) return "";
  std::vector<bool>& calls = placed[ref.trace.index()];
  if (ref.call < 0 || static_cast<size_t>(ref.call) >= calls.size()) return "refers to no call";
  if (calls[static_cast<size_t>(ref.call)]) return "holds a call that is already placed";
  calls[static_cast<size_t>(ref.call)] = true;
  return "";
}

std::string check_shape(const CollectiveInstance& instance, const InstanceTable& table, size_t expected_first) {
  if (instance.first_member != expected_first || instance.member_count == 0 ||
      instance.first_member + instance.member_count > table.members.size()) {
    return "members are not the next rows of the member table";
  }
  if (!instance.communicator.known() || instance.communicator.index() >= table.communicators.size()) {
    return "communicator out of range";
  }
  if (instance.special >= static_cast<int64_t>(instance.member_count)) return "special member out of range";
  if (instance.complete && static_cast<int64_t>(instance.member_count) != instance.expected) {
    return "complete, but not of the expected size";
  }
  return "";
}

bool spans_its_call(const CallSpan& span, CallRef ref, const JobTrace& job) {
  if (!job.holds(ref.trace)) return true;
  const CollectiveCall& call = job[ref.trace].calls[static_cast<size_t>(ref.call)];
  return span.start == call.start && span.duration_ns == call.duration_ns;
}

std::string check_members(const CollectiveInstance& instance, const InstanceTable& table, const JobTrace& job,
                          std::vector<std::vector<bool>>& placed) {
  for (size_t row = instance.first_member; row < instance.first_member + instance.member_count; ++row) {
    const CallRef ref = table.members[row];
    if (std::string broken = place(ref, job, placed); !broken.empty()) return broken;
    if (job[ref.trace].session != instance.session) return "holds a call of another session";
    if (!spans_its_call(table.spans[row], ref, job)) return "span of a member is not its call's";
    if (row > instance.first_member && table.members[row - 1].trace >= ref.trace) return "members not sorted by trace";
  }
  return "";
}

std::string check_links(const InstanceTable& table) {
  std::vector<uint32_t> instance_of_row;
  for (size_t i = 0; i < table.instances.size(); ++i) {
    instance_of_row.insert(instance_of_row.end(), table.instances[i].member_count, static_cast<uint32_t>(i));
  }
  for (size_t i = 0; i < table.links.size(); ++i) {
    const BatchLink& link = table.links[i];
    if (link.row >= instance_of_row.size() || link.partner >= instance_of_row.size()) return "link of no member";
    const uint32_t instance = instance_of_row[link.row];
    if (instance != instance_of_row[link.partner]) return "link between two instances";
    if (table.instances[instance].kind != CollectiveKind::coalesced) return "link in an instance of no batches";
    if (i > 0 && table.links[i - 1] >= link) return "links not sorted";
  }
  return "";
}

}  // namespace

std::span<const BatchLink> links_of(const InstanceTable& table, uint32_t row) {
  const auto [begin, end] = std::equal_range(table.links.begin(), table.links.end(), BatchLink{row, 0, false},
                                             [](const BatchLink& a, const BatchLink& b) { return a.row < b.row; });
  return {begin, end};
}

std::string check_invariants(const InstanceTable& table, const JobTrace& job) {
  std::vector<std::vector<bool>> placed;
  for (const RankTrace& trace : job.traces) {
    placed.emplace_back(trace.process == job.process ? trace.calls.size() : 0, false);
  }
  if (table.spans.size() != table.members.size()) return "members and their spans differ in number";
  size_t first = 0;
  for (size_t i = 0; i < table.instances.size(); ++i) {
    const CollectiveInstance& instance = table.instances[i];
    std::string broken = check_shape(instance, table, first);
    if (broken.empty()) broken = check_members(instance, table, job, placed);
    if (broken.empty() && i > 0) {
      const CollectiveInstance& before = table.instances[i - 1];
      if (std::tie(before.session, before.communicator, before.ordinal) >=
          std::tie(instance.session, instance.communicator, instance.ordinal)) {
        broken = "not sorted by (session, communicator, ordinal)";
      }
    }
    if (!broken.empty()) return "instance " + std::to_string(i) + ": " + broken;
    first += instance.member_count;
  }
  if (first != table.members.size()) return "members that belong to no instance";
  if (std::string broken = check_links(table); !broken.empty()) return broken;
  for (size_t i = 0; i < table.unmatched.size(); ++i) {
    std::string broken = place(table.unmatched[i].call, job, placed);
    if (broken.empty() && i > 0 && table.unmatched[i - 1].call >= table.unmatched[i].call)
      broken = "not sorted by call";
    if (!broken.empty()) return "unmatched row " + std::to_string(i) + ": " + broken;
  }
  for (const std::vector<bool>& calls : placed) {
    for (const bool found : calls) {
      if (!found) return "a call is in no instance and not among the unmatched";
    }
  }
  if (table.communicators.size() < job.communicators.size()) return "a communicator of the job is missing";
  return check_invariants(table.communicators);
}

}  // namespace skewscope
