#include "run_of_upload.h"

#include <algorithm>
#include <optional>

#include "skewscope/protocol/names.h"

namespace skewscope::gather {
namespace {

class Choice {
 public:
  Choice(const NewUpload& file, const std::vector<RunFacts>& runs, const GatherDeadlines& deadlines, Time now)
      : file_(file.metadata), written_(file.written), runs_(runs), deadlines_(deadlines), now_(now) {}

  ChosenRun choose() const {
    if (runs_.empty()) return of(file_.job);
    const auto same = std::find_if(runs_.rbegin(), runs_.rend(), [this](const RunFacts& run) { return has_it(run); });
    if (same != runs_.rend()) return of(same->job);
    const RunFacts& newest = runs_.back();
    if (is_dump(file_.capture) || file_.replace) return of(newest.job);
    if (!written_) return has_other(newest) ? after(newest) : of(newest.job);
    if (const RunFacts* run = nearest(); run != nullptr && !has_other(*run)) {
      return of(run->job);
    } else if (run == &newest) {
      return after(newest);
    }
    const bool is_over = newest.has_capture || (!newest.empty && *written_ > end_of(newest));
    return is_over ? next() : of(newest.job);
  }

 private:
  static ChosenRun of(const std::string& job) { return {ChosenRun::Kind::run, job, {}}; }

  bool has_it(const RunFacts& run) const { return run.file && file_.sha256 && *run.file == *file_.sha256; }
  // Where nobody has said which content it is, the store tells when it is there. A log is in its rank's way for as long
  // as the job is there.
  bool has_other(const RunFacts& run) const { return run.file && file_.sha256 && !run.has_log && !has_it(run); }
  std::chrono::seconds deadline_of(const RunFacts& run) const {
    return run.deadline.value_or(deadlines_.after_last_byte);
  }
  Time end_of(const RunFacts& run) const { return run.ended ? run.ended_at + deadlines_.after_end : Time::max(); }

  std::chrono::seconds distance_to(const RunFacts& run) const {
    const Time last = file_.grows ? std::max(run.written.last, run.last_byte) : run.written.last;
    if (*written_ < run.written.first) return run.written.first - *written_;
    return std::max(*written_ - last, std::chrono::seconds(0));
  }

  // Of two that are as near, the newer one.
  const RunFacts* nearest() const {
    const RunFacts* best = nullptr;
    for (const RunFacts& run : runs_) {
      const bool may_be = run.has_capture && *written_ <= end_of(run) && distance_to(run) <= deadline_of(run);
      if (may_be && (best == nullptr || distance_to(run) <= distance_to(*best))) best = &run;
    }
    return best;
  }

  // Of a file for whose rank the newest run has other content.
  ChosenRun after(const RunFacts& newest) const {
    const Time silent = newest.last_byte + deadline_of(newest);
    const bool over = newest.whole || newest.ended || now_ >= silent;
    if (over || (written_ && *written_ > newest.file_came)) return next();
    return {ChosenRun::Kind::conflict, newest.job, silent - now_};
  }

  ChosenRun next() const {
    const int number = number_of_run(runs_.back().job) + 1;
    if (runs_.size() >= kMostRuns || number > kMostRunNumber) return {ChosenRun::Kind::too_many, "", {}};
    return of(run_of(file_.job, number));
  }

  const UploadMetadata& file_;
  std::optional<Time> written_;
  const std::vector<RunFacts>& runs_;
  const GatherDeadlines& deadlines_;
  Time now_;
};

}  // namespace

ChosenRun run_of_upload(const NewUpload& file, const std::vector<RunFacts>& runs, const GatherDeadlines& deadlines,
                        Time now) {
  return Choice(file, runs, deadlines, now).choose();
}

}  // namespace skewscope::gather
