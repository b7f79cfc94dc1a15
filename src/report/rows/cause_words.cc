#include "cause_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "skewscope/base/human_units.h"

namespace skewscope::report {
namespace {

// The same kernels on the same grids take longer on a slow GPU, and where their grid does not tell the size of inputs.
constexpr CauseWords kCauseWords[] = {
    {LateCause::slower_kernels, "slower kernels", "slower kernels, likely", "its kernels take longer",
     "their kernels take longer",
     "Compare the clocks, power and temperature of {} GPU with another's; then compare input sizes that no grid "
     "shows."},
    {LateCause::other_kernels, "other kernels", "other kernels, likely", "it runs more or other kernels",
     "they run more or other kernels",
     "Compare {} computing with that of other ranks: batch, shapes, experts, recompiles."},
    {LateCause::other_shapes, "other shapes", "other shapes, likely", "its kernels work on other shapes",
     "their kernels work on other shapes", "Even out {} inputs: batch, sequence lengths, tokens of experts."},
    {LateCause::copies, "exposed copies", "exposed copies, likely", "its memory copies are exposed",
     "their memory copies are exposed", "Look at {} copies: pinned memory, prefetching, offloading."},
    {LateCause::transfer_elsewhere, "other group's transfer", "other group's transfer",
     "transfers of its other groups are exposed", "transfers of their other groups are exposed",
     "Check the links of {} other groups: bandwidth per size, overlap."},
    {LateCause::wait_elsewhere, "held up in other group", "held up in other group", "it waits in other groups",
     "they wait in other groups", "Look at {} other groups: whom they wait for there."},
    {LateCause::host, "late host", "late host, likely", "its host launches late", "their hosts launch late",
     "Look at {} host: input, Python, launches ahead of its collectives."},
    {LateCause::idle, "GPU idle, why unknown", "GPU idle, why unknown", "its GPU is idle", "their GPUs are idle",
     "Look at what {} GPU waits for ahead of its collectives."},
    {LateCause::program, "pipeline schedule", "pipeline schedule", "its part of the program takes longer",
     "their part of the program takes longer", "Balance the stages, or fill the pipeline with more micro-batches."},
};

// What makes a window one in which a rank is late: its part of all waiting caused then.
constexpr int64_t kLatePart = 4;

// The rank that waits most in the collectives of `late`; -1: none does.
int32_t waits_most_for(const JobReport& report, int32_t late) {
  std::map<int32_t, int64_t> waited;
  for (size_t first = 0, next = 0; first < report.calls.size(); first = next) {
    const auto is_same = [&](const auto& call) { return call.instance == report.calls[first].instance; };
    while (next < report.calls.size() && is_same(report.calls[next])) ++next;
    const auto begin = report.calls.begin() + static_cast<ptrdiff_t>(first);
    const auto end = report.calls.begin() + static_cast<ptrdiff_t>(next);
    if (std::none_of(begin, end, [&](const auto& call) { return call.rank == late; })) continue;
    for (auto call = begin; call != end; ++call) waited[call->rank] += std::max<int64_t>(0, call->wait_ns);
  }
  waited.erase(late);
  const auto most =
      std::max_element(waited.begin(), waited.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == waited.end() || most->second == 0 ? -1 : most->first;
}

// The rank that causes a good part of all waiting; -1: none does.
int32_t most_blamed(const JobReport& report) {
  int64_t all_ns = 0;
  const JobReport::Straggler* most = nullptr;
  for (const JobReport::Straggler& s : report.stragglers) {
    all_ns += s.wait_originated_ns;
    if (most == nullptr || s.wait_originated_ns > most->wait_originated_ns) most = &s;
  }
  return most == nullptr || most->wait_originated_ns * kLatePart < all_ns || all_ns == 0 ? -1 : most->rank;
}

// By the trend: up to the end, or until when.
std::string when_late(const JobReport& report, int32_t late) {
  std::map<int64_t, int64_t> all_ns;  // by end of the window
  std::map<int64_t, int64_t> own_ns;
  for (const TrendRow& row : report.trend) {
    const int64_t end = row.start_ns + row.duration_ns;
    all_ns[end] += row.wait_caused_ns;
    if (row.rank == late) own_ns[end] += row.wait_caused_ns;
  }
  int64_t last_late = -1;
  for (const auto& [end, ns] : own_ns) {
    if (ns > 0 && kLatePart * ns >= all_ns.at(end)) last_late = end;
  }
  if (last_late < 0) return "";
  const int64_t last = all_ns.rbegin()->first, length = report.trend.front().duration_ns;
  if (last - last_late <= length) return fmt::format(" Rank {} is late up to the end of the logs: record now.", late);
  return fmt::format(" Rank {} was late until {} into the job: record when it is again.", late,
                     human_duration(last_late));
}

}  // namespace

const CauseWords* wording_of(std::optional<LateCause> cause) {
  const auto* found = std::find_if(std::begin(kCauseWords), std::end(kCauseWords),
                                   [&](const CauseWords& words) { return cause == words.cause; });
  return found == std::end(kCauseWords) ? nullptr : found;
}

bool has_calls_alone(const JobReport& report) {
  return !report.calls.empty() &&
         std::all_of(report.calls.begin(), report.calls.end(), [](const auto& call) { return call.exposed_ns < 0; });
}

std::string record_next(const JobReport& report, const std::vector<int32_t>& late) {
  if (const int32_t most = most_blamed(report); late.empty() && most >= 0) return record_next(report, {most});
  if (late.size() != 1) {
    return fmt::format("Logs of calls do not say why: record torch.profiler traces of {} over the same steps.",
                       late.empty() ? "one node's ranks" : "ranks " + human_ranks(late));
  }
  const int32_t other = waits_most_for(report, late.front());
  std::vector<int32_t> both = late;
  if (other >= 0) both.push_back(other);
  std::sort(both.begin(), both.end());
  return fmt::format("Logs of calls do not say why: record torch.profiler traces of rank{} {} over the same steps.{}",
                     both.size() > 1 ? "s" : "", human_ranks(both), when_late(report, late.front()));
}

}  // namespace skewscope::report
