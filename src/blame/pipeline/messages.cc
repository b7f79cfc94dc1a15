#include "messages.h"

#include <algorithm>
#include <tuple>

namespace skewscope::blame {
namespace {

LocalNs launched_at(const CollectiveCall& call) { return call.launched ? call.launch_start : call.start; }

}  // namespace

std::vector<Message> all_messages(const ReplayPlan& plan, int32_t island) {
  const JobView& view = plan.view;
  std::vector<Message> messages;
  const auto add = [&](uint32_t from, uint32_t to) {
    if (plan.island_of_row(from) != island || plan.island_of_row(to) != island) return;
    messages.push_back({static_cast<uint32_t>(view.ref(from).trace.index()),
                        static_cast<uint32_t>(view.ref(to).trace.index()), from, to});
  };
  for (const CollectiveInstance& i : view.table.instances) {
    const uint32_t first = i.first_member;
    if (i.kind == CollectiveKind::send && i.member_count == 2 && i.special >= 0) {
      const uint32_t sender = first + static_cast<uint32_t>(i.special);
      add(sender, 2 * first + 1 - sender);
    }
    if (i.kind == CollectiveKind::send_recv && i.member_count == 2) {
      add(first, first + 1);
      add(first + 1, first);
    }
    if (i.kind != CollectiveKind::coalesced) continue;
    for (uint32_t row = first; row < first + i.member_count; ++row) {
      for (const BatchLink& link : links_of(view.table, row)) {
        if (!link.receives) add(row, link.partner);
      }
    }
  }
  std::sort(messages.begin(), messages.end());
  return messages;
}

std::vector<int64_t> lone_messages(const JobView& view) {
  std::vector<int64_t> lone(view.job.traces.size(), 0);
  for (const UnmatchedCall& unmatched : view.table.unmatched) {
    const RankTrace& trace = view.job[unmatched.call.trace];
    const CollectiveCall& call = trace.calls[static_cast<size_t>(unmatched.call.call)];
    lone[unmatched.call.trace.index()] +=
        carries_messages(call.kind) && (call.step >= 0 || trace.steps.empty()) ? 1 : 0;
  }
  for (const CollectiveInstance& i : view.table.instances) {
    if (i.complete || !carries_messages(i.kind)) continue;
    for (uint32_t row = i.first_member; row < i.first_member + i.member_count; ++row) {
      if (i.kind != CollectiveKind::coalesced || !links_of(view.table, row).empty()) {
        ++lone[view.ref(row).trace.index()];
      }
    }
  }
  return lone;
}

std::vector<std::vector<MessageEvent>> events_by_trace(const JobView& view, const std::vector<Message>& messages) {
  std::vector<std::vector<MessageEvent>> events(view.job.traces.size());
  for (const Message& m : messages) {
    events[m.from].push_back({m.sent_row, m.to, true});
    events[m.to].push_back({m.come_row, m.from, false});
  }
  const auto key = [&](const MessageEvent& event) {
    return std::make_tuple(launched_at(view.call(event.row)), event.row, !event.sends);
  };
  for (auto& of_trace : events) {
    std::sort(of_trace.begin(), of_trace.end(),
              [&](const MessageEvent& a, const MessageEvent& b) { return key(a) < key(b); });
  }
  return events;
}

}  // namespace skewscope::blame
