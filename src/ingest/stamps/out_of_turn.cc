// Problem: a stamp may be wrong by less than anything that a pause could not be: a kernel 200 ms late in a job of 46
// ms. Idea: the rest of the file contradicts it. Calls of one thread have ids that go up as they are made; no kernel
// begins before its launch, or behind a call that was made after its launch and returned when the device had ended; a
// stream begins its kernels in the order of their launches; a step without a launch does not lie apart from its
// neighbours while launches lie in no step where it belongs. Where two rows contradict each other, that one is wrong
// that contradicts more; where both contradict nothing else, the one that lies further than usual from its launch. Why
// right: clocks of a host and its GPU differ by less than 10 ms where they are one clock at all, and only a few rows
// are left out: where many contradict the order, it is the order that is not known (ids that begin again, rows of other
// streams under one number).
// Cost: a pass over the rows; where a stream's are out of order, a sort of these.
#include "out_of_turn.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "median.h"

namespace skewscope::ingest {
namespace {

constexpr int64_t kOneClock_ns = 10'000'000;
constexpr size_t kAlwaysFew = 2, kShareOfFewRows = 100;

// A row in a sequence: its start, and when it was asked for, where that is known.
struct Turn {
  int32_t row = -1;
  LocalNs start, asked;
};

int64_t median_delay(const std::vector<Turn>& turns) {
  std::vector<int64_t> delays;
  for (const Turn& turn : turns) delays.push_back(turn.start - turn.asked);
  return median_of(std::move(delays));
}

// Finds the turns that do not begin one after the other, as they should.
void find_breakers(const std::vector<Turn>& turns, std::vector<OutOfTurn>& found) {
  std::vector<LocalNs> least_behind(turns.size() + 1, LocalNs{INT64_MAX});
  for (size_t i = turns.size(); i-- > 0;) least_behind[i] = std::min(least_behind[i + 1], turns[i].start);
  std::vector<OutOfTurn> late, early;
  LocalNs most{INT64_MIN};
  size_t late_place = 0, early_place = 0;
  for (size_t i = 0; i < turns.size(); ++i) {
    const LocalNs start = turns[i].start;
    if (start.ns - kOneClock_ns > least_behind[i + 1].ns) {
      late.push_back({turns[i].row, start - least_behind[i + 1]});
      late_place = i;
    }
    if (start.ns + kOneClock_ns < most.ns) {
      early.push_back({turns[i].row, start - most});
      early_place = i;
    }
    most = std::max(most, start);
  }
  if (late.empty()) return;
  bool late_are_wrong = late.size() < early.size();
  if (late.size() == early.size()) {
    if (late.size() > 1) return;
    const int64_t usual_ns = median_delay(turns);
    const auto unusual_ns = [&](const Turn& turn) { return std::abs(turn.start - turn.asked - usual_ns); };
    const int64_t of_late = unusual_ns(turns[late_place]), of_early = unusual_ns(turns[early_place]);
    if (of_late == of_early) return;
    late_are_wrong = of_late > of_early;
  }
  const std::vector<OutOfTurn>& wrong = late_are_wrong ? late : early;
  found.insert(found.end(), wrong.begin(), wrong.end());
}

// By row, each once; none where they are many.
std::vector<OutOfTurn> few_of(std::vector<OutOfTurn> found, size_t rows) {
  const auto before = [](const OutOfTurn& a, const OutOfTurn& b) { return a.row < b.row; };
  std::stable_sort(found.begin(), found.end(), before);
  found.erase(std::unique(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.row == b.row; }),
              found.end());
  const size_t most = std::min(few_rows_of(rows), (rows + 1) / 2 - (rows > 0 ? 1 : 0));
  if (found.size() > most) found.clear();
  return found;
}

// Launches whose rows are where the launches are: ids that begin again.
void forget_prompt(const FileContent& content, std::vector<OutOfTurn>& launches) {
  const GpuEvents& gpu = content.gpu.events;
  std::erase_if(launches, [&](const OutOfTurn& launch) {
    const auto row =
        static_cast<size_t>(std::find(gpu.launch.begin(), gpu.launch.end(), launch.row) - gpu.launch.begin());
    if (row == gpu.size()) return true;
    const int64_t delay_ns = gpu.start[row] - content.launches.events.start[static_cast<size_t>(launch.row)];
    return launch.late_ns > 0 ? delay_ns > -kOneClock_ns : delay_ns < -launch.late_ns;
  });
}

class GpuOrder {
 public:
  explicit GpuOrder(const FileContent& content) : gpu_(content.gpu.events), launched_(content.launches.events.start) {
    for (const SyncRow& sync : content.syncs) {
      if (!sync.ends_recording && sync.of_device) syncs_.push_back(sync);
    }
    std::sort(syncs_.begin(), syncs_.end(), [](const SyncRow& a, const SyncRow& b) { return a.start < b.start; });
    const auto other = [&](int32_t device) { return device != gpu_.device[0]; };
    if (std::any_of(gpu_.device.begin(), gpu_.device.end(), other)) syncs_.clear();  // each waits for its own
  }

  std::vector<OutOfTurn> find() {
    bool any_inverted = false;
    std::map<std::pair<int32_t, int32_t>, LocalNs> last_launched;
    LocalNs* last = nullptr;
    for (size_t i = 0; i < gpu_.size(); ++i) {
      if (gpu_.launch[i] < 0) continue;
      const LocalNs launched = launched_at(i);
      check_bounds(i, launched);
      if (!is_kernel(i)) continue;
      const bool same = last != nullptr && gpu_.stream[i] == stream_ && gpu_.device[i] == device_;
      if (!same) {
        stream_ = gpu_.stream[i];
        device_ = gpu_.device[i];
        last = &last_launched.try_emplace({device_, stream_}, LocalNs{INT64_MIN}).first->second;
      }
      any_inverted |= launched < *last;
      *last = std::max(*last, launched);
    }
    if (any_inverted) check_streams();
    return few_of(std::move(found_), gpu_.size());
  }

 private:
  LocalNs launched_at(size_t row) const { return launched_[static_cast<size_t>(gpu_.launch[row])]; }
  bool is_kernel(size_t row) const {
    return gpu_.work[row] == GpuWork::compute || gpu_.work[row] == GpuWork::communication;
  }

  // A row runs between its launch and the return of the next call that waits for the device.
  void check_bounds(size_t row, LocalNs launched) {
    const LocalNs start = gpu_.start[row];
    if (start.ns + kOneClock_ns < launched.ns) {
      found_.push_back({static_cast<int32_t>(row), start - launched});
      return;
    }
    if (start - launched <= kOneClock_ns) return;
    const auto sync =
        std::partition_point(syncs_.begin(), syncs_.end(), [&](const SyncRow& call) { return call.start < launched; });
    if (sync == syncs_.end()) return;
    const int64_t late_ns = start - (sync->start + sync->duration_ns);
    if (late_ns > kOneClock_ns) found_.push_back({static_cast<int32_t>(row), late_ns});
  }

  // Rows of a graph have one launch and streams of their own.
  void check_streams() {
    std::vector<int32_t> users(launched_.size(), 0);
    for (const int32_t launch : gpu_.launch) {
      if (launch >= 0) ++users[static_cast<size_t>(launch)];
    }
    std::map<std::pair<int32_t, int32_t>, std::vector<Turn>> streams;
    for (size_t i = 0; i < gpu_.size(); ++i) {
      if (gpu_.launch[i] < 0 || !is_kernel(i) || users[static_cast<size_t>(gpu_.launch[i])] > 1) continue;
      streams[{gpu_.device[i], gpu_.stream[i]}].push_back({static_cast<int32_t>(i), gpu_.start[i], launched_at(i)});
    }
    for (auto& [stream, turns] : streams) {
      std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) { return a.asked < b.asked; });
      find_breakers(turns, found_);
    }
  }

  const GpuEvents& gpu_;
  const Column<LocalNs>& launched_;
  std::vector<SyncRow> syncs_;  // of the device, by start
  int32_t stream_ = -1, device_ = -1;
  std::vector<OutOfTurn> found_;
};

// Steps by number, and what was launched in them and around.
class StepOrder {
 public:
  explicit StepOrder(const FileContent& content) : launched_(content.launches.events.start) {
    for (size_t i = 0; i < content.steps.size(); ++i) {
      const StepRow& step = content.steps[i];
      steps_.push_back(
          {step.start, step.start + std::max<int64_t>(step.duration_ns, 0), step.number, static_cast<int32_t>(i)});
    }
    std::sort(steps_.begin(), steps_.end(), [](const Step& a, const Step& b) { return a.number < b.number; });
  }

  std::vector<OutOfTurn> find() const {
    std::vector<OutOfTurn> found;
    const auto same = [](const Step& a, const Step& b) { return a.number == b.number; };
    if (std::adjacent_find(steps_.begin(), steps_.end(), same) != steps_.end()) return found;
    for (size_t i = 0; i < steps_.size(); ++i) {
      const std::optional<int64_t> away_ns = away_of(i);
      if (away_ns && found.size() <= kAlwaysFew && is_out_of_turn(i)) found.push_back({steps_[i].row, *away_ns});
    }
    return few_of(std::move(found), steps_.size());
  }

 private:
  struct Step {
    LocalNs start, end;
    int64_t number;
    int32_t row;
  };
  // Where a step must lie.
  struct Place {
    LocalNs begin, end;
  };

  const Step* neighbour(size_t i, int64_t offset) const {
    const size_t other = i + static_cast<size_t>(offset);
    const bool follows = other < steps_.size() && steps_[other].number == steps_[i].number + offset;
    return follows ? &steps_[other] : nullptr;
  }

  // Between its neighbours; next to the only one, no further than it is long, and half as long again.
  Place place_of(size_t i) const {
    const Step *before = neighbour(i, -1), *after = neighbour(i, 1);
    const int64_t room_ns = (steps_[i].end - steps_[i].start) * 3 / 2;
    if (before == nullptr && after == nullptr) return {steps_[i].start, steps_[i].end};
    return {before != nullptr ? before->end : after->start + -room_ns,
            after != nullptr ? after->start : before->end + room_ns};
  }

  // How far it lies from there; none: steps are one behind the other.
  std::optional<int64_t> away_of(size_t i) const {
    const Step& step = steps_[i];
    const Place place = place_of(i);
    if (step.end.ns + kOneClock_ns < place.end.ns && step.start < place.begin) return step.start - place.begin;
    if (step.start.ns - kOneClock_ns > place.begin.ns && step.end > place.end) return step.start - place.begin;
    return std::nullopt;
  }

  bool is_out_of_turn(size_t i) const {
    const Place place = place_of(i);
    bool any_in_place = false;
    std::vector<bool> launches(steps_.size(), false);  // by step
    for (const LocalNs at : launched_) {
      bool in_step = false;
      for (size_t k = 0; k < steps_.size(); ++k) {
        if (at < steps_[k].start || at >= steps_[k].end) continue;
        launches[k] = in_step = true;
      }
      if (launches[i]) return false;
      any_in_place |= !in_step && place.begin <= at && at < place.end;
    }
    const auto empty = static_cast<size_t>(std::count(launches.begin(), launches.end(), false));
    return any_in_place && empty <= few_rows_of(steps_.size());
  }

  const Column<LocalNs>& launched_;
  std::vector<Step> steps_;  // by number
};

}  // namespace

size_t few_rows_of(size_t rows) { return std::max(kAlwaysFew, rows / kShareOfFewRows); }

std::vector<OutOfTurn> launches_out_of_turn(const FileContent& content) {
  const LaunchEvents& calls = content.launches.events;
  const auto are_in_turn = [&] {
    std::map<int64_t, LocalNs> latest;
    LocalNs* of_thread = nullptr;
    for (size_t i = 0; i < calls.size(); ++i) {
      if (i == 0 || calls.thread[i] != calls.thread[i - 1]) {
        of_thread = &latest.try_emplace(calls.thread[i], LocalNs{INT64_MIN}).first->second;
      }
      if (calls.start[i].ns + kOneClock_ns < of_thread->ns) return false;
      *of_thread = std::max(*of_thread, calls.start[i]);
    }
    return true;
  };
  if (are_in_turn()) return {};
  std::map<int64_t, std::vector<Turn>> threads;
  for (size_t i = 0; i < calls.size(); ++i) {
    threads[calls.thread[i]].push_back({static_cast<int32_t>(i), calls.start[i], calls.start[i]});
  }
  std::vector<OutOfTurn> found;
  for (const auto& [thread, turns] : threads) find_breakers(turns, found);
  found = few_of(std::move(found), calls.size());
  if (!found.empty()) forget_prompt(content, found);
  return found;
}

std::vector<OutOfTurn> gpu_rows_out_of_turn(const FileContent& content) {
  return content.gpu.empty() ? std::vector<OutOfTurn>() : GpuOrder(content).find();
}

std::vector<OutOfTurn> steps_out_of_turn(const FileContent& content) { return StepOrder(content).find(); }

}  // namespace skewscope::ingest
