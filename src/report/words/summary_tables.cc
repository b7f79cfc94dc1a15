#include "summary_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"
#include "src/report/rows/cause_words.h"

namespace skewscope::report {
namespace {

constexpr size_t kTop = 3;
// Columns of numbers and of words of known length; names take what is left.
constexpr size_t kRank = 12, kCauses = 14, kCameLast = 10, kHowOften = 10, kWhy = 22, kMostHost = 26;
constexpr size_t kSize = 9, kCount = 8, kTime = 10, kNumbers = kSize + kCount + 3 * kTime;
constexpr const char* kCollectives = "Collectives with most waiting";

// All wait of the ranks of each island, by its first component.
std::map<int32_t, int64_t> waits_of_components(const JobReport& report) {
  std::map<int32_t, int64_t> waits;
  for (const JobReport::Island& island : report.islands) {
    int64_t& wait_ns = waits[island.component];
    for (const JobReport::RankRow& row : report.ranks) {
      if (std::binary_search(island.ranks.begin(), island.ranks.end(), row.rank)) wait_ns += row.wait_ns;
    }
  }
  return waits;
}

// Causes before others, of each those with the largest share; the ones chosen in the order of what is shown.
template <class ShareOf>
std::vector<JobReport::Straggler> most_late(std::vector<JobReport::Straggler> all, const ShareOf& share_of) {
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
    return std::make_pair(a.standing == Standing::cause, share_of(a)) >
           std::make_pair(b.standing == Standing::cause, share_of(b));
  });
  all.resize(std::min(kTop, all.size()));
  std::stable_sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return share_of(a) > share_of(b); });
  return all;
}

std::string host_of(const JobReport& report, int32_t rank) {
  const auto row =
      std::find_if(report.ranks.begin(), report.ranks.end(), [&](const auto& r) { return r.rank == rank; });
  return row == report.ranks.end() ? "" : row->host;
}

std::string why_late(const JobReport::Straggler& s) {
  const CauseWords* const words = wording_of(s.cause);
  if (words == nullptr) return "-";
  return s.standing == Standing::cause ? words->label : words->likely;
}

// A name that says what it is where there is room for all of it: operation, group, name, ranks.
std::string collective_name(const JobReport& report, const JobReport::CollectiveRow& row, size_t width) {
  std::string number = fmt::format("  {}, group {}", to_string(row.op), row.communicator);
  const auto group = std::find_if(report.communicators.begin(), report.communicators.end(),
                                  [&](const auto& one) { return one.id == row.communicator; });
  if (group == report.communicators.end()) return number;
  // A description in prose says less than the name.
  const bool prose = group->desc.empty() || group->desc.find(' ') != std::string::npos;
  const std::string& name = prose ? group->name : group->desc;
  const std::string named = name.empty() ? number : fmt::format("{} ({})", number, name);
  const std::string brief = name.empty() ? number : fmt::format("  {} in {}", to_string(row.op), name);
  for (const std::string& words : {fmt::format("{}, ranks {}", named, human_ranks(group->ranks)), named, brief}) {
    if (text_width(words) < width) return words;
  }
  return number;
}

}  // namespace

Lines straggler_table(const JobReport& report, const Figures& f, size_t columns) {
  Lines lines(columns);
  if (report.stragglers.empty()) return lines;
  const std::map<int32_t, int64_t> wait_by_component = waits_of_components(report);
  const auto wait_ns = [&](const JobReport::Straggler& s) {
    const auto own = wait_by_component.find(s.component);
    return own == wait_by_component.end() ? f.wait_ns : own->second;
  };
  const auto share_of = [&](const JobReport::Straggler& s) {
    return share(s.wait_originated_ns, wait_ns(s)).value_or(0);
  };
  const size_t rest = lines.columns() - std::min(lines.columns(), kRank + kCauses + kCameLast + kHowOften + kWhy);
  const size_t host = report.job.hosts.empty() ? 0 : std::min(kMostHost, rest);
  lines.push_back({});
  lines.push_back({pad("Straggler", kRank) + pad("Host", host) + pad("Causes", kCauses) + pad("Came last", kCameLast) +
                       pad("How often", kHowOften) + "Why",
                   Style::bold});
  for (const JobReport::Straggler& s : most_late(report.stragglers, share_of)) {
    const std::string last = s.late_candidates == 0 ? "-" : fmt::format("{}/{}", s.late_count, s.late_candidates);
    const std::string own_host = host < 2 ? "" : host_of(report, s.rank);
    lines.push_back({pad(fmt::format("  rank {}", s.rank), kRank) +
                     pad(own_host.empty() ? "-" : fit(own_host, host - 1), host) +
                     pad(fmt::format("{} of wait", human_percent(share_of(s))), kCauses) + pad(last, kCameLast) +
                     pad(s.pattern ? to_string(*s.pattern) : "-", kHowOften) + why_late(s)});
  }
  return lines;
}

Lines collective_table(const JobReport& report, size_t columns) {
  Lines lines(columns);
  std::vector<const JobReport::CollectiveRow*> rows;
  for (const JobReport::CollectiveRow& row : report.collectives) {
    if (row.wait_ns.sum + row.transfer_ns.sum > 0) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](auto* a, auto* b) { return a->wait_ns.sum > b->wait_ns.sum; });
  rows.resize(std::min(kTop, rows.size()));
  if (rows.empty()) return lines;
  const size_t most = lines.columns() - kNumbers;
  size_t name = std::string_view(kCollectives).size();
  for (const auto* row : rows) name = std::max(name, text_width(collective_name(report, *row, most)) + 1);
  name = std::min(name, most);
  lines.push_back({});
  lines.push_back({pad(kCollectives, name) + pad_left("size", kSize) + pad_left("count", kCount) +
                       pad_left("waiting", kTime) + pad_left("transfer", kTime) + pad_left("bus GB/s", kTime),
                   Style::bold});
  for (const auto* row : rows) {
    const Statistics& bus = row->bus_bandwidth_gb_per_s;
    lines.push_back({pad(collective_name(report, *row, most), name) +
                     pad_left(row->bytes > 0 ? human_bytes(row->bytes) : "-", kSize) +
                     pad_left(fmt::format("{}", row->count), kCount) +
                     pad_left(human_duration(std::llround(row->wait_ns.sum)), kTime) +
                     pad_left(human_duration(std::llround(row->transfer_ns.sum)), kTime) +
                     pad_left(bus.count > 0 ? human_number(bus.median) : "-", kTime)});
  }
  return lines;
}

}  // namespace skewscope::report
