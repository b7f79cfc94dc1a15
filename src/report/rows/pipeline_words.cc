#include "pipeline_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "skewscope/base/human_units.h"

namespace skewscope::report {
namespace {

constexpr double kWorthTelling = 0.01;  // of GPU time
constexpr double kUnevenStages = 0.5;   // of the bubble: balance helps more than micro-batches

std::string counted_words(int32_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : noun[0] == 'm' ? "es" : "s");
}

const char* schedule_words(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::one_f_one_b:
      return "1F1B";
    case PipelineSchedule::gpipe:
      return "GPipe";
    case PipelineSchedule::interleaved:
      return "interleaved 1F1B";
    case PipelineSchedule::zero_bubble:
      return "zero-bubble";
  }
  return "";
}

// The stage that works longest, and how much longer than the mean.
std::string longest_stage_words(const JobReport::Pipeline& p) {
  int64_t sum = 0;
  const JobReport::Pipeline::Stage* longest = &p.by_stage.front();
  for (const JobReport::Pipeline::Stage& stage : p.by_stage) {
    sum += stage.work_ns;
    if (stage.work_ns > longest->work_ns) longest = &stage;
  }
  const int64_t mean = sum / std::ssize(p.by_stage);
  const double longer = mean <= 0 ? 0 : static_cast<double>(longest->work_ns - mean) / static_cast<double>(mean);
  return fmt::format("stage {} works {} longer than the mean", longest->stage, human_percent(longer));
}

double mean_window_ns(const JobReport::Pipeline& p) {
  size_t ranks = 0;
  for (const JobReport::Pipeline::Stage& stage : p.by_stage) ranks += stage.ranks.size();
  return static_cast<double>(p.window_ns) / static_cast<double>(std::max<size_t>(1, ranks));
}

}  // namespace

std::string pipeline_shape_words(const JobReport::Pipeline& p) {
  if (p.stages == 0) return "";
  std::string text = counted_words(p.stages, "stage") + ", " + counted_words(p.micro_batches, "micro-batch");
  if (p.virtual_stages > 1) text += fmt::format(", {} virtual stages per rank", p.virtual_stages);
  if (p.micro_batches > 1) text += fmt::format(", {}", schedule_words(p.schedule));
  return text;
}

std::optional<PipelineWords> pipeline_words(const JobReport& report) {
  const JobReport::Pipeline& p = report.pipeline;
  if (p.stages == 0 || p.bubble_share < 0) return std::nullopt;
  PipelineWords words;
  words.share = p.bubble_share;
  words.explained = std::max(0.0, p.schedule_share) + std::max(0.0, p.imbalance_share);
  words.sentence =
      fmt::format("{} of GPU time is pipeline bubble ({})", human_percent(p.bubble_share), pipeline_shape_words(p));
  if (p.schedule_share >= 0) {
    words.sentence += fmt::format(": {} is the schedule's", human_percent(p.schedule_share));
    if (p.imbalance_share >= kWorthTelling) {
      words.sentence += fmt::format(", {} comes from uneven stages", human_percent(p.imbalance_share));
    }
  }
  words.sentence += ".";
  if (p.with_twice_micro_batches_share < 0) return words;
  if (p.imbalance_share >= kUnevenStages * p.bubble_share) {
    words.next = fmt::format("Balance the stages: {}.", longest_stage_words(p));
    words.balance = true;
    words.gain_ns = std::llround(p.imbalance_share * mean_window_ns(p));
  } else {
    words.next = fmt::format("More micro-batches: twice as many, half as large, would leave a bubble of {}.",
                             human_percent(p.with_twice_micro_batches_share));
    words.gain_ns = p.with_twice_micro_batches_saved_ns;
  }
  return words;
}

}  // namespace skewscope::report
