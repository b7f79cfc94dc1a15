// The rows of a report about losses, efficiencies and what a change would gain, described once.
#pragma once

#include "field.h"
#include "skewscope/model/job_report.h"

namespace skewscope::report {

struct LossFields {
  using Row = JobReport::Loss;
  static constexpr About kAbout = {"losses", "losses", "what the job loses its time to"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::kind>("kind",
                        "late_in_turn: no rank alone, but all as fast as their peers; launch_bound: GPUs idle until "
                        "the next launch arrives"),
      field<&Row::component>("component", "row of components, whose length the gain is a share of"),
      field<&Row::ranks>("ranks", "that cause it; empty: all, or nobody in particular"),
      field<&Row::weight>("weight",
                          "what losses are ordered by: gain_share, or half of that where it is at most so much"),
      field<&Row::gain_ns>("gain_ns", "by which the job would be shorter without it"),
      field<&Row::gain_share>("gain_share", "the same, of the job's length"),
      field<&Row::bound>("bound", "how the gain is meant"), field<&Row::why>("why", "what was seen"),
      field<&Row::next>("next", "what to do"));
};

struct EfficiencyFields {
  using Row = JobReport::Efficiency;
  static constexpr About kAbout = {"efficiency", "efficiency", "POP and TALP efficiencies of the job, 0..1; one row"};
  static constexpr auto kFields = std::make_tuple(
      known<&Row::parallel>("parallel", "load_balance x communication: what of the GPUs' time is computing"),
      known<&Row::load_balance>("load_balance", "mean computing of a rank over the most of any"),
      known<&Row::communication>("communication",
                                 "serialization x transfer: the most computing of any rank over the length"),
      known<&Row::serialization>("serialization", "what waiting and idling leave"),
      known<&Row::transfer>("transfer", "what moving bytes leaves"),
      known<&Row::gpu_communication>("gpu_communication", "what communication on the GPUs leaves (TALP)"),
      known<&Row::orchestration>("orchestration", "what idle GPUs leave (TALP)"),
      known<&Row::bubble>("bubble",
                          "the factor of serialization that a pipeline's schedule makes: 1 - pipeline.schedule_share; "
                          "null: no pipeline, or not known"));
};

inline bool stand_out_together(const JobReport::WhatIf& row) { return !row.together.empty(); }

struct WhatIfFields {
  using Row = JobReport::WhatIf;
  static constexpr About kAbout = {"what_if", "what_if", "lengths of the job, replayed; one row"};
  static constexpr auto kFields = std::make_tuple(
      known<&Row::recorded_ns>("recorded_ns", "as recorded"),
      known<&Row::replayed_ns>("replayed_ns", "replayed unchanged"),
      known<&Row::balanced_ns>("balanced_ns", "with every rank as fast as its peers"),
      known<&Row::no_transfer_ns>("no_transfer_ns", "on a network that takes no time"),
      known<&Row::even_experts_ns>(
          "even_experts_ns",
          "with the tokens of experts divided evenly: what ranks compute between an uneven all-to-all and the group's "
          "next collective scaled to the mean of what its members received; null also where no all-to-all is uneven"),
      field<&Row::saved_at_least>("saved_at_least",
                                  "every saved_ns is a bound: calls that are not matched or miss a member may hold "
                                  "waiting that stays in the replay, or ranks share a GPU, compute at once for two "
                                  "hundredths of the job or more, and slow their peers' kernels"),
      unless_zero<&Row::steps>("steps", "a length divided by them is a step time; null: no profiler steps recorded"),
      field<&Row::together>("together_ranks", "ranks that are clear stragglers only together; empty: none", In::tables),
      where<&Row::together_saved_ns, &stand_out_together>(
          "together_saved_ns", "by which the job is shorter with these as fast as their peers", In::tables));
};

struct ProgramFields {
  using Row = JobReport::WhatIf::Program;
  static constexpr About kAbout = {"what_if/programs", "what_if_programs", "ranks that run one program"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::ranks>("ranks", "who runs it"), field<&Row::work_ns>("work_ns", "local work of one rank, the median"),
      field<&Row::saved_ns>("saved_ns", "of the longest program: by which the job is shorter with all at the mean"),
      field<&Row::saved_at_least>("saved_at_least",
                                  "saved_ns is a bound: the schedule of the pipeline allows stages of even length "
                                  "more, or every saved_ns of the report is one"));
};

struct OperationFields {
  using Row = JobReport::WhatIf::Operation;
  static constexpr About kAbout = {"what_if/operations", "what_if_operations",
                                   "the job replayed with the transfers of one operation in one kind of group changed"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::group>("group_kind",
                        "what traces call groups of this kind (Process Group Description), else \"group of 4\"; null: "
                        "the calls name no group"),
      known<&Row::size>("size", "ranks of each group"),
      known<&Row::nodes>("nodes", "hosts that the ranks of each group lie on; null: hosts are not known"),
      field<&Row::groups>("groups", "groups of this kind"), field<&Row::op>("op", "the operation"),
      field<&Row::calls>("calls", "calls of all ranks"),
      field<&Row::exposed_transfer_ns>("exposed_transfer_ns", "of all ranks, each nanosecond of a GPU once"),
      known<&Row::hidden_saved_ns>(
          "hidden_saved_ns",
          "by which the job is shorter when nobody waits for these transfers, though everybody still for late members; "
          "and no shorter than the longest rank's transfers of the operation, which still take their time during "
          "computation. At most that is what prefetching or overlapping them gains. null: not replayed, since more "
          "than transfer may follow the last arrivals known"),
      known<&Row::hidden_share>("hidden_saved_share",
                                "hidden_saved_ns / replayed_ns: of the job; overlap[].hidden_share is of the calls"),
      known<&Row::faster_saved_ns>("faster_saved_ns",
                                   "by which the job is shorter when these transfers take half as long"),
      known<&Row::faster_share>("faster_saved_share", "faster_saved_ns / replayed_ns"));
};

struct OperationPartFields {
  using Row = JobReport::WhatIf::Operation::Part;
  static constexpr About kAbout = {"what_if/operations/parts", "what_if_operation_parts",
                                   "the same for a part of the operation, hidden alone; its table has group_kind, "
                                   "size, nodes and op of the operation in front"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::phase>("phase", "part of the step, as in overlap[]; null: of a module, in any phase"),
      text<&Row::module>("module", "part of the model, as in overlap_modules[]; null: of a phase, in any module"),
      field<&Row::calls>("calls", "calls of all ranks"),
      field<&Row::exposed_transfer_ns>("exposed_transfer_ns", "of all ranks, each nanosecond of a GPU once"),
      known<&Row::hidden_saved_ns>("hidden_saved_ns",
                                   "by which the job is shorter when nobody waits for these transfers, as for the "
                                   "whole operation; null: not replayed"),
      known<&Row::hidden_share>("hidden_saved_share",
                                "hidden_saved_ns / replayed_ns: of the job; overlap[].hidden_share is of the calls"));
};

struct PipelineFields {
  using Row = JobReport::Pipeline;
  static constexpr About kAbout = {"pipeline", "pipeline", "the pipeline that the ranks form"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::stages>("stages", "ranks of one pipeline, one behind the other"),
      field<&Row::micro_batches>(
          "micro_batches",
          "micro-batches between two flushes (of a step), counted from the messages of the first stage"),
      field<&Row::virtual_stages>("virtual_stages", "stages (model chunks) of each rank; above 1: interleaved"),
      field<&Row::schedule>(
          "schedule",
          "1f1b: a forward and a backward pass in turn, also where there is one micro-batch; gpipe: all forward, then "
          "all backward; zero_bubble: waits less than a schedule whose backward passes are whole can"),
      field<&Row::window_ns>("window_ns", "of all ranks of pipelines, from first to last row: what the shares are of"),
      known<&Row::bubble_ns>("bubble_ns",
                             "time in which ranks stood still for messages of their pipeline or for its other stages "
                             "in collectives, summed over ranks; null: most messages could not be split"),
      known<&Row::bubble_share>("bubble_share", "bubble_ns / window_ns"),
      known<&Row::schedule_share>("schedule_share",
                                  "part of bubble_share: the bubble of this schedule with the same work evenly divided "
                                  "and no transfer time: (stages - 1) / (virtual_stages x micro_batches) of the work"),
      known<&Row::imbalance_share>("imbalance_share",
                                   "part of bubble_share: what stages of different lengths add; the rest is transfer "
                                   "on the way to a rank, jitter and late ranks"),
      known<&Row::with_twice_micro_batches_share>(
          "with_twice_micro_batches_share",
          "bubble_share with twice as many micro-batches, each half as large and computed in half the time, what is "
          "neither the schedule's nor imbalance unchanged"),
      known<&Row::with_twice_micro_batches_saved_ns>("with_twice_micro_batches_saved_ns",
                                                     "by which the job would then be shorter"));
};

struct StageFields {
  using Row = JobReport::Pipeline::Stage;
  static constexpr About kAbout = {"pipeline/by_stage", "pipeline_stages", "a stage of the pipeline"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::stage>("stage", "position in the pipeline, of the model's first chunk"),
      field<&Row::ranks>("ranks", "its replicas and shards"),
      known<&Row::work_ns>(
          "work_ns",
          "what the rank in the middle of the stage works in its passes over the window: what it neither waits nor "
          "receives, without what ranks usually spend outside their passes (optimizer, gradients)"),
      known<&Row::bubble_ns>("bubble_ns", "bubble of one rank over the window, the mean over the stage"));
};

}  // namespace skewscope::report
