#include "take_report.h"

#include <unistd.h>

#include <algorithm>

#include "src/gather/kept/verdict.h"
#include "src/gather/process/descriptor.h"

namespace skewscope::gather {

std::optional<ReportOutcome> outcome_in(const Store& store, const std::string& job, int generation,
                                        const std::string& path) {
  const auto stored = store.read_report(job, generation, path);
  if (stored.refusal != Refusal::none) return std::nullopt;
  const Descriptor file(stored.value.fd);
  std::string text(std::min<uint64_t>(stored.value.size, kMostOutcomeBytes + 1), '\0');
  const ssize_t got = pread(file.get(), text.data(), text.size(), 0);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return outcome_from_json(text);
}

std::optional<Run> run_of_report(const Store& store, const JobState& job) {
  auto outcome = outcome_in(store, job.name, job.report_generation, "outcome.json");
  if (!outcome) return std::nullopt;
  return Run{
      job.name,           job.owner_uid, job.created, job.reported_at, verdict_in(store, job.name, "summary.txt"),
      std::move(*outcome)};
}

void take_reports(const Store& store, History& history) {
  constexpr size_t kPage = 1000;
  std::string after;
  for (std::vector<JobState> page = store.jobs(after, kPage); !page.empty(); page = store.jobs(after, kPage)) {
    after = page.back().name;
    for (const JobState& job : page) {
      if (job.report_generation == 0 || history.has(job.name, job.created, job.reported_at)) continue;
      if (const auto run = run_of_report(store, job)) history.add(*run);
    }
  }
}

}  // namespace skewscope::gather
