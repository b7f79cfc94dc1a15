// The rows of scale.json and compare.json, described once.
#pragma once

#include "field.h"
#include "gain_fields.h"
#include "skewscope/model/compare_report.h"
#include "skewscope/model/scale_report.h"

namespace skewscope::report {

struct ScaleRunFields {
  using Row = ScaleReport::Run;
  static constexpr About kAbout = {"runs", "runs", "the job at one size"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::name>("name", "what the run is called"), field<&Row::world_size>("world_size", "its ranks"),
      field<&Row::steps>("steps", "steps that all ranks recorded; 0: none, the window counts as one"),
      rounded<&Row::step_ns>("step_ns", "mean length of a step"),
      known_rounded<&Row::step_error_ns>("step_error_ns", "standard error of that mean, by the steps' autocorrelation"),
      field<&Row::speedup>("speedup", "work per second against the smallest run"),
      known<&Row::speedup_error>("speedup_error", "by the errors of both steps"),
      field<&Row::throughput_per_gpu>("throughput_per_gpu",
                                      "work per second and GPU against the smallest run: the scaling efficiency"),
      field<&Row::steps_per_s_per_gpu>("steps_per_s_per_gpu", "steps per second and GPU"),
      rounded<&Row::compute_ns>("compute_ns", "computing, per rank and step"),
      rounded<&Row::message_bytes>("message_bytes", "S of its collectives, per rank and step"),
      nested<&Row::efficiency, EfficiencyFields>("efficiency", "POP and TALP efficiencies of the run"),
      known<&Row::computation_scaling>("computation_scaling",
                                       "computing of the smallest run over this one's, ideally scaled"),
      known<&Row::global>("global", "parallel x computation_scaling"));
};

struct ScaleLossFields {
  using Row = ScaleReport::Loss;
  static constexpr About kAbout = {
      "losses", "losses", "what the global efficiency lost between two sizes; its tables have from and to in front"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::tree>("tree", "pop: these sum to the change; gpu: these sum to serialization and transfer"),
      field<&Row::factor>("factor", "the efficiency that changed"),
      field<&Row::before>("before", "it, at the smaller size"), field<&Row::after>("after", "it, at the larger size"),
      field<&Row::points>("points", "of the global efficiency, in percentage points; negative: gained"));
};

struct ScaleCauseFields {
  using Row = ScaleReport::Cause;
  static constexpr About kAbout = {"losses/causes", "loss_causes",
                                   "who or what is responsible for a loss; its table has from, to and factor in front"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::kind>("kind", "rank, communicator, operator, host (launches late), idle (otherwise), or other"),
      field<&Row::ranks>("ranks", "of kind rank: who; of kind host: whose hosts; of a wait: whom it is for"),
      text<&Row::communicator>("communicator", "of kind communicator: what those of this role are called"),
      field<&Row::communicators>("communicators", "ids in the larger run that explain it, else all of that role"),
      text<&Row::op>("op", "the operation"), text<&Row::dtype>("dtype", "element type"),
      text<&Row::name>("name", "of kind operator: the kernel"),
      known_rounded<&Row::before_ns>("before_ns", "per rank and step, at the smaller size"),
      known_rounded<&Row::after_ns>("after_ns", "per rank and step, at the larger size"),
      field<&Row::points>("points", "of the loss, in percentage points"));
};

inline bool is_made(const ScaleReport::Projection& projection) { return projection.refusal.empty(); }

struct ProjectionFields {
  using Row = ScaleReport::Projection;
  static constexpr About kAbout = {"projection", "", "step time at larger sizes"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::model>("model", "a + b / P: Amdahl; a + b log2 P: equal work, collectives over trees"),
      text<&Row::refusal>("refusal", "why there is none; null: there is one"),
      where<&Row::a_ns, &is_made>("a_ns", "a of the model"), where<&Row::b_ns, &is_made>("b_ns", "b of the model"),
      where<&Row::residual_ns, &is_made>("residual_ns", "standard deviation of the residuals"));
};

struct ProjectionPointFields {
  using Row = ScaleReport::Projection::Point;
  static constexpr About kAbout = {"projection/points", "projection", "a size that was not run"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::world_size>("world_size", "ranks"), rounded<&Row::step_ns>("step_ns", "length of a step"),
      known_rounded<&Row::low_ns>("low_ns", "lower end of its 95 % prediction interval"),
      rounded<&Row::high_ns>("high_ns", "upper end"));
};

struct CompareRunFields {
  using Row = CompareReport::Run;
  static constexpr About kAbout = {"base", "runs", "one of the two runs"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::name>("name", "what the run is called"), field<&Row::world_size>("world_size", "its ranks"),
      field<&Row::steps>("steps", "steps that all ranks recorded"),
      rounded<&Row::step_ns>("step_ns", "mean length of a step"),
      known_rounded<&Row::step_error_ns>("step_error_ns", "standard error of that mean"));
};

inline double relative_change(const CompareReport::Change& change) { return change.change_ns() / change.base_ns; }
inline bool has_base(const CompareReport::Change& change) { return change.base_ns > 0; }
inline bool has_p_value(const CompareReport::Change& change) { return change.p_value >= 0; }

struct ChangeFields {
  using Row = CompareReport::Change;
  static constexpr About kAbout = {"step", "", "a time per step in both runs"};
  static constexpr auto kFields = std::make_tuple(
      rounded<&Row::base_ns>("base_ns", "in the base run"), rounded<&Row::new_ns>("new_ns", "in the new run"),
      rounded<&Row::change_ns>("change_ns", "new_ns - base_ns"),
      where<&relative_change, &has_base>("change", "change_ns / base_ns", In::document),
      known<&Row::p_value>("p_value", "that chance alone makes such a difference (Welch's t over steps)"),
      where<&Row::significant, &has_p_value>(
          "significant", "p_value held against all rows of its table: of those called so, 5 % are chance"));
};

struct StepPartFields {
  using Row = CompareReport::Part;
  static constexpr About kAbout = {"parts", "step_changes", "what the ranks' own steps consist of, mean over ranks"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::part>("part",
                        "computing, exposed transfer, exposed wait, exposed copies, idle, or what was not split"),
      members_of<&Row::change, ChangeFields>());
};

struct RankPartFields {
  using Row = CompareReport::RankPart;
  static constexpr About kAbout = {"ranks", "rank_changes", "the same of one rank"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::rank>("rank", "the rank"), field<&Row::part>("part", "as in parts"),
                      members_of<&Row::change, ChangeFields>());
};

struct HostPartFields {
  using Row = CompareReport::Part;
  static constexpr About kAbout = {"host", "host_changes",
                                   "what the hosts (CPUs) did in a step, mean over ranks; empty: steps are the hosts' "
                                   "already, or a report does not say"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::part>("part",
                        "host_step, ProfilerStep#N on the host; host_work, it less host_wait; host_launch, in calls "
                        "that launch GPU work; host_wait, in calls that wait for the GPU; host_bound_idle, the GPU was "
                        "idle until the host launched: from ranks[].idle_host_wait_ns, without spread over steps"),
      members_of<&Row::change, ChangeFields>());
};

struct HostRankPartFields {
  using Row = CompareReport::RankPart;
  static constexpr About kAbout = {"host_ranks", "host_rank_changes", "the same of one rank's host"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::rank>("rank", "the rank"), field<&Row::part>("part", "as in host"),
                      members_of<&Row::change, ChangeFields>());
};

struct CollectivePartFields {
  using Row = CompareReport::CollectivePart;
  static constexpr About kAbout = {"collectives", "collective_changes",
                                   "one operation of one group, per member and step"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::communicator>("communicator", "id in the new run"),
                      field<&Row::role>("role", "what its group is for"), field<&Row::members>("ranks", "its members"),
                      field<&Row::op>("op", "the operation"), field<&Row::dtype>("dtype", "element type"),
                      field<&Row::bytes>("bytes", "S of nccl-tests; 0: unknown", In::document),
                      unless_zero<&Row::bytes>("bytes", "S of nccl-tests; null: unknown", In::tables),
                      field<&Row::part>("part", "wait, transfer, exposed_wait or exposed_transfer"),
                      members_of<&Row::change, ChangeFields>());
};

struct CommunicatorPartFields {
  using Row = CompareReport::CollectivePart;
  static constexpr About kAbout = {"communicators", "communicator_changes",
                                   "all operations of one group, per member and step"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::communicator>("communicator", "id in the new run"),
                      field<&Row::role>("role", "what its group is for"), field<&Row::members>("ranks", "its members"),
                      field<&Row::part>("part", "wait, transfer, exposed_wait or exposed_transfer"),
                      members_of<&Row::change, ChangeFields>());
};

struct KernelChangeFields {
  using Row = CompareReport::Work;
  static constexpr About kAbout = {"kernels", "kernel_changes",
                                   "GPU time of kernels of one name, the median over ranks"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::name>("name", "of the kernel"), members_of<&Row::change, ChangeFields>());
};

struct OperatorChangeFields {
  using Row = CompareReport::Work;
  static constexpr About kAbout = {"operators", "operator_changes",
                                   "GPU time that operators of one name launched themselves, the median over ranks"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::name>("name", "of the operator"), members_of<&Row::change, ChangeFields>());
};

}  // namespace skewscope::report
