// Files that go out: a rank's trace, a report.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "handlers.h"
#include "job_text.h"
#include "skewscope/gather/report_folder.h"
#include "src/gather/http/page_policy.h"
#include "src/gather/kept/verdict.h"

namespace skewscope::gather {
namespace {

constexpr size_t kPolicyStandsIn = 4096;  // bytes of a page
constexpr size_t kLogOnPage = 4096;       // bytes of a log
constexpr size_t kLineOnPage = 200;       // bytes of what is said of an aligned trace

struct Range {
  uint64_t first = 0, size = 0;
};

// RFC 9110 byte ranges, one of them: "bytes=0-99", "bytes=100-", "bytes=-100". nullopt: more than one, or none of these
// forms; the whole file is then the answer. A size of 0: nothing of the file lies in it.
std::optional<Range> range_of(std::string_view text, uint64_t size) {
  if (!text.starts_with("bytes=")) return std::nullopt;
  text.remove_prefix(6);
  const size_t dash = text.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  constexpr uint64_t kLastByte = INT64_MAX;
  const std::string_view before = text.substr(0, dash), behind = text.substr(dash + 1);
  const auto first = whole_number(before, kLastByte), last = whole_number(behind, kLastByte);
  if ((!first && !before.empty()) || (!last && !behind.empty()) || (!first && !last)) return std::nullopt;
  if (!first) return Range{size - std::min(*last, size), std::min(*last, size)};
  if (last && *last < *first) return std::nullopt;
  if (*first >= size) return Range{0, 0};
  return Range{*first, std::min(last.value_or(size - 1), size - 1) - *first + 1};
}

Response file_response(const StoredFile& stored) {
  Response response;
  response.file = std::make_shared<Descriptor>(stored.fd);
  response.file_size = stored.size;
  return response;
}

}  // namespace

Response get_rank(const Store& store, const Call& call) {
  const Request& request = call.request;
  const auto stored = store.read(request.job, request.capture, request.rank);
  if (stored.refusal != Refusal::none) return refused(stored.refusal);
  Response response = file_response(stored.value);
  if (const auto range = request.range.empty() ? std::nullopt : range_of(request.range, stored.value.size)) {
    if (range->size == 0) {
      return problem(416, "outside the file").field("Content-Range", fmt::format("bytes */{}", stored.value.size));
    }
    response.status = 206;
    response.file_offset = range->first;
    response.file_size = range->size;
    response.field("Content-Range",
                   fmt::format("bytes {}-{}/{}", range->first, range->first + range->size - 1, stored.value.size));
  }
  if (stored.value.digest != Digest{}) response.field("Repr-Digest", repr_digest(stored.value.digest));
  return response.field("Content-Type", "application/octet-stream")
      .field("Content-Disposition", fmt::format("attachment; filename=\"r{:05}{}\"", request.rank, stored.value.suffix))
      .field("Accept-Ranges", "bytes");
}

Response get_report(const Store& store, const Call& call) {
  const Request& request = call.request;
  const bool html = request.suffix == ".html", log = request.suffix == ".log";
  const std::string name = html ? "index.html" : log ? "log" : request.hang ? "hang.json" : "report.json";
  const auto stored =
      store.read_report(request.job, request.generation, request.within + (request.hang ? "hang/" : "") + name);
  if (stored.refusal == Refusal::unknown) return problem(404, "no such report");
  if (stored.refusal != Refusal::none) return refused(stored.refusal);
  Response response = file_response(stored.value);
  if (log) return response.field("Content-Type", "text/plain; charset=utf-8");
  if (!html) return response.field("Content-Type", "application/json");
  std::string beginning(kPolicyStandsIn, '\0');
  const ssize_t bytes = pread(stored.value.fd, beginning.data(), beginning.size(), 0);
  beginning.resize(static_cast<size_t>(std::max<ssize_t>(bytes, 0)));
  add_page_fields(response, policy_of_report(beginning));
  return response;
}

// Shown where a browser shows text, else saved by its name.
Response get_report_file(const Store& store, const Call& call) {
  const std::string& path = call.request.file;
  const std::string& within = call.request.within;
  const auto stored = store.read_report(call.request.job, 0, within + path);
  if (stored.refusal == Refusal::unknown) return problem(404, "no such file of a report");
  if (stored.refusal != Refusal::none) return refused(stored.refusal);
  const char* const type = path.ends_with(".json")     ? "application/json"
                           : path.ends_with(".csv")    ? "text/csv; charset=utf-8"
                           : path.ends_with(".sqlite") ? "application/vnd.sqlite3"
                           : path == kAlignedTrace     ? "application/octet-stream"
                                                       : "text/plain; charset=utf-8";
  std::string name = path.substr(path.rfind('/') + 1);
  if (!within.empty()) name = fmt::format("capture{}-{}", call.request.capture, name);
  const char* const where = path.ends_with(".txt") ? "inline" : "attachment";
  return file_response(stored.value)
      .field("Content-Type", type)
      .field("Content-Disposition", fmt::format("{}; filename=\"{}-{}\"", where, call.request.job, name));
}

std::string last_lines_of_log(const Store& store, const std::string& job) {
  const auto stored = store.read_report(job, 0, "log");
  if (stored.refusal != Refusal::none) return "";
  const Descriptor file(stored.value.fd);
  std::string text(std::min<uint64_t>(stored.value.size, kLogOnPage), '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), static_cast<off_t>(stored.value.size - text.size()));
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (text.size() == kLogOnPage) text.erase(0, text.find('\n') + 1);  // which begins within a line
  return text;
}

std::string words_on_aligned_trace(const Store& store, const std::string& job) {
  const auto stored = store.read_report(job, 0, kAlignedTraceText);
  if (stored.refusal != Refusal::none) return "";
  const Descriptor file(stored.value.fd);
  std::string text(kLineOnPage, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(pread(file.get(), text.data(), text.size(), 0), 0)));
  return text.substr(0, text.find('\n'));
}

std::string verdict_of_report(const Store& store, const JobState& job) {
  return job.report_generation == 0 ? "" : verdict_in(store, job.name, "summary.txt");
}

std::string verdict_of_hang(const Store& store, const JobState& job) {
  return job.dumps == 0 || job.report_generation == 0 ? "" : verdict_in(store, job.name, "hang/summary.txt");
}

}  // namespace skewscope::gather
