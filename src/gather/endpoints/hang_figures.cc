#include "hang_figures.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "src/gather/process/descriptor.h"

namespace skewscope::gather {
namespace {

using nlohmann::json;

constexpr size_t kMostHangs = 100, kMostCulprits = 4, kPageOfJobs = 1000, kLongestValue = 64;
constexpr uint64_t kMostHangRead = 64 << 20;           // of a hang.json
constexpr std::chrono::seconds kStillHangs{6 * 3600};  // since its last dump
constexpr const char* kHangCulprits = "skewscope_job_hang_culprits";
constexpr const char* kHangCulprit = "skewscope_job_hang_culprit";

std::string hang_document(const Store& store, const std::string& job) {
  const auto stored = store.read_report(job, 0, "hang/hang.json");
  if (stored.refusal != Refusal::none) return "";
  const Descriptor file(stored.value.fd);
  std::string text(std::min(stored.value.size, kMostHangRead), '\0');
  size_t got = 0;
  while (got < text.size()) {
    const ssize_t more = pread(file.get(), text.data() + got, text.size() - got, static_cast<off_t>(got));
    if (more <= 0) break;
    got += static_cast<size_t>(more);
  }
  text.resize(got);
  return text;
}

std::vector<JobState> hanging_jobs(const Store& store) {
  std::vector<JobState> hanging;
  const Time least = wall_clock() - kStillHangs;
  std::string after;
  for (std::vector<JobState> page = store.jobs(after, kPageOfJobs); !page.empty();
       page = store.jobs(after, kPageOfJobs)) {
    after = page.back().name;
    for (JobState& job : page) {
      if (job.dumps > 0 && job.report_generation > 0 && job.last_dump >= least) hanging.push_back(std::move(job));
    }
  }
  std::sort(hanging.begin(), hanging.end(),
            [](const JobState& a, const JobState& b) { return a.last_dump > b.last_dump; });
  hanging.resize(std::min(hanging.size(), kMostHangs));
  return hanging;
}

// What a label may hold without escapes; "": anything else.
std::string plain_word(const json& row, const char* key) {
  const auto found = row.find(key);
  if (found == row.end() || !found->is_string()) return "";
  std::string text = found->get<std::string>();
  const bool plain = text.size() <= kLongestValue &&
                     std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; });
  return plain ? text : "";
}

}  // namespace

std::map<std::string, std::string> hang_samples(const std::string& job, std::string_view hang_json) {
  const json document = json::parse(hang_json, nullptr, false);
  if (!document.is_object() || !document.contains("culprits") || !document["culprits"].is_array()) return {};
  const json& culprits = document["culprits"];
  std::map<std::string, std::string> samples;
  samples[kHangCulprits] =
      std::string(kHangCulprits) + "{job_name=\"" + job + "\"} " + std::to_string(culprits.size()) + "\n";
  size_t shown = 0;
  for (const json& culprit : culprits) {
    if (!culprit.is_object() || !culprit.contains("rank") || !culprit["rank"].is_number_integer()) continue;
    if (shown++ == kMostCulprits) break;
    samples[kHangCulprit] += std::string(kHangCulprit) + "{job_name=\"" + job + "\",rank=\"" +
                             std::to_string(culprit["rank"].get<int64_t>()) + "\",kind=\"" +
                             plain_word(culprit, "kind") + "\",certainty=\"" + plain_word(culprit, "certainty") +
                             "\"} 1\n";
  }
  return samples;
}

std::string HangFigures::text(const Store& store) {
  const std::vector<JobState> jobs = hanging_jobs(store);
  const std::lock_guard lock(mutex_);
  decltype(known_) now;
  std::map<std::string, std::string> families;
  for (const JobState& job : jobs) {
    const auto known = known_.find(job.name);
    const bool same = known != known_.end() && known->second.first == job.report_generation;
    auto& [generation, samples] = now[job.name];
    samples = same ? std::move(known->second.second) : hang_samples(job.name, hang_document(store, job.name));
    generation = job.report_generation;
    for (const auto& [family, lines] : samples) families[family] += lines;
  }
  known_ = std::move(now);
  std::string out;
  for (const auto& [family, lines] : families) out.append("# TYPE ").append(family).append(" gauge\n").append(lines);
  return out;
}

}  // namespace skewscope::gather
