#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "skewscope/base/printable.h"
#include "skewscope/base/whole_file.h"
#include "skewscope/hang.h"
#include "src/hang/words/page.h"
#include "src/hang/words/verdict.h"

namespace skewscope {
namespace {

namespace files = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr size_t kSummaryColumns = 80;  // of a file, which has no width

Json number_or_null(int64_t number) { return number < 0 ? Json() : Json(number); }
Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json json_of(const Culprit& one) {
  return {{"rank", one.rank},
          {"kind", to_string(one.kind)},
          {"certainty", to_string(one.certainty)},
          {"group", text_or_null(one.group)},
          {"collective_seq", number_or_null(one.collective_seq)},
          {"operation", text_or_null(one.operation)},
          {"reason", one.reason},
          {"last_action", text_or_null(one.last_action)},
          {"stack", one.stack},
          {"other_stack", one.other_stack},
          {"waiting", one.waiting}};
}

Json json_of(const HangGroup& one) {
  return {{"id", one.id},
          {"name", one.name},
          {"description", text_or_null(one.description)},
          {"ranks", one.ranks},
          {"last_completed_seq", number_or_null(one.last_completed_seq)},
          {"stalled_seq", number_or_null(one.stalled_seq)},
          {"stalled_operation", text_or_null(one.stalled_operation)},
          {"entered_ranks", one.entered_ranks},
          {"missing_ranks", one.missing_ranks},
          {"no_dump_ranks", one.no_dump_ranks}};
}

Json json_of(const HangRank& one) {
  return {{"rank", one.rank},
          {"state", to_string(one.state)},
          {"group", text_or_null(one.group)},
          {"collective_seq", number_or_null(one.collective_seq)},
          {"operation", text_or_null(one.operation)},
          {"waits_for", one.waits_for},
          {"late_ns", number_or_null(one.late_ns)},
          {"last_share", one.last_share < 0 ? Json() : Json(one.last_share)}};
}

Json json_of(const HangLink& one) {
  return {{"ranks", one.ranks},
          {"group", one.group},
          {"operation", text_or_null(one.operation)},
          {"collective_seq", number_or_null(one.collective_seq)},
          {"waits_for", one.waits_for}};
}

template <class Rows>
Json rows_of(const Rows& rows) {
  Json out = Json::array();
  for (const auto& row : rows) out.push_back(json_of(row));
  return out;
}

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}
std::string cell(int64_t number) { return number < 0 ? "" : fmt::format("{}", number); }
std::string cell(const std::vector<int32_t>& ranks) { return fmt::format("{}", fmt::join(ranks, " ")); }
std::string cell(double share) { return share < 0 ? "" : fmt::format("{}", share); }

template <class... Cells>
std::string line(const Cells&... cells) {
  std::string text;
  ((text += (text.empty() ? "" : ",") + cells), ...);
  return text + "\n";
}

std::string culprits_csv(const HangReport& report) {
  std::string text = "rank,kind,certainty,group,collective_seq,operation,reason,last_action,waiting\n";
  for (const Culprit& one : report.culprits) {
    text += line(cell(int64_t{one.rank}), std::string(to_string(one.kind)), std::string(to_string(one.certainty)),
                 cell(one.group), cell(one.collective_seq), cell(one.operation), cell(one.reason),
                 cell(one.last_action), cell(int64_t{one.waiting}));
  }
  return text;
}

std::string groups_csv(const HangReport& report) {
  std::string text =
      "id,name,description,ranks,last_completed_seq,stalled_seq,stalled_operation,entered_ranks,missing_ranks,no_dump_"
      "ranks\n";
  for (const HangGroup& one : report.groups) {
    text += line(cell(one.id), cell(one.name), cell(one.description), cell(one.ranks), cell(one.last_completed_seq),
                 cell(one.stalled_seq), cell(one.stalled_operation), cell(one.entered_ranks), cell(one.missing_ranks),
                 cell(one.no_dump_ranks));
  }
  return text;
}

std::string ranks_csv(const HangReport& report) {
  std::string text = "rank,state,group,collective_seq,operation,waits_for,late_ns,last_share\n";
  for (const HangRank& one : report.ranks) {
    text += line(cell(int64_t{one.rank}), std::string(to_string(one.state)), cell(one.group), cell(one.collective_seq),
                 cell(one.operation), cell(one.waits_for), cell(one.late_ns), cell(one.last_share));
  }
  return text;
}

bool made_here(const files::path& folder) {
  return files::exists(folder / "COMPLETE") && files::exists(folder / "hang.json");
}

}  // namespace

std::string hang_json(const HangReport& report, const HangStamp& stamp) {
  const Json json = {{"schema", "skewscope.hang/1"},
                     {"tool_version", stamp.tool_version},
                     {"command", printable(stamp.command)},
                     {"created_utc", stamp.created_utc},
                     {"verdict", {{"sentence", hang::verdict_of(report)}, {"next", hang::next_of(report)}}},
                     {"world_size", report.world_size},
                     {"dumps", report.dumps},
                     {"stalled", report.stalled},
                     {"ranks_without_dump", report.ranks_without_dump},
                     {"waiting_ranks", report.waiting_ranks},
                     {"culprits", rows_of(report.culprits)},
                     {"groups", rows_of(report.groups)},
                     {"ranks", rows_of(report.ranks)},
                     {"chain", rows_of(report.chain)},
                     {"problems", report.problems}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Done> write_hang(const HangReport& report, const std::string& directory, const HangStamp& stamp, bool force) {
  const files::path target = files::path(directory).lexically_normal();
  std::error_code error;
  if (files::exists(target, error) && !made_here(target) && !force) {
    return Error{ErrorKind::output,
                 fmt::format("{} exists and is no report of this program; --force replaces it", directory)};
  }
  const files::path place = target.has_filename() ? target : target.parent_path();
  UnfinishedFolder unfinished(place.string() + ".partial");
  error = unfinished.make();
  if (!error) files::create_directory(unfinished.path() / "tables", error);
  if (error)
    return Error{ErrorKind::output, fmt::format("cannot make {}: {}", unfinished.path().string(), error.message())};
  const std::string json = hang_json(report, stamp);
  const std::pair<const char*, std::string> parts[] = {{"summary.txt", hang_summary(report, kSummaryColumns, false)},
                                                       {"hang.json", json},
                                                       {"index.html", hang::page_of(json)},
                                                       {"tables/culprits.csv", culprits_csv(report)},
                                                       {"tables/groups.csv", groups_csv(report)},
                                                       {"tables/ranks.csv", ranks_csv(report)},
                                                       {"COMPLETE", "skewscope hang\n"}};
  for (const auto& [name, bytes] : parts) {
    const auto written = write_whole_file(bytes, (unfinished.path() / name).string(), true);
    if (!written.ok()) return written.error();
  }
  files::remove_all(place, error);
  files::rename(unfinished.path(), place, error);
  if (error) return Error{ErrorKind::output, fmt::format("cannot make {}: {}", place.string(), error.message())};
  return Done{};
}

}  // namespace skewscope
