// The rows of a report about the job, its ranks and its steps, described once.
#pragma once

#include "field.h"
#include "skewscope/model/job_report.h"

namespace skewscope::report {

constexpr const char* kReportSchema = "skewscope.report/1";
inline const char* report_schema(const JobReport::Job&) { return kReportSchema; }

struct JobFields {
  using Row = JobReport::Job;
  static constexpr About kAbout = {"job", "job", "the job that is reported; one row"};
  static constexpr auto kFields = std::make_tuple(
      field<&report_schema>("schema", "of report.json, and of these tables", In::tables),
      field<&Row::name>("name", "name of the job"),
      field<&Row::world_size>("world_size", "ranks of the job; 0: not known"),
      field<&Row::ranks_present>("ranks_present", "ranks with a trace"),
      field<&Row::ranks_missing>("ranks_missing", "ranks without one"),
      field<&Row::hosts>("hosts", "machines that the traces name; empty: no trace names its own"),
      field<&Row::software>("software",
                            "libraries and drivers that the traces name, with their versions: NCCL/2.28.9; several "
                            "of one name: ranks differ"),
      field<&Row::steps>("steps", "numbers N of ProfilerStep#N that any rank recorded"),
      unless_none<&Row::step_basis>("step_basis",
                                    "what a step is: gpu, what was launched in ProfilerStep#N, as it ran on the GPU; "
                                    "host, ProfilerStep#N as hosts ran it, of a job without a GPU; null: there are no "
                                    "steps. Reports without this property have windows of the hosts as steps"),
      field<&Row::window_start_ns>("window_start_ns", "Unix time of the job's first event on the common clock"),
      field<&Row::window_ns>("window_ns", "from the job's first event to its last"),
      field<&Row::sessions>("sessions", "captures of the job, one after the other"),
      field<&Row::vendor>("vendor", "who made the GPUs; cpu: a job without a GPU; mixed: several"));
};

struct FoundJobFields {
  using Row = FoundJob;
  static constexpr About kAbout = {"jobs_found", "jobs_found", "a job found in what was given"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::name>("name", "what --job takes where several are found"),
      field<&Row::files>("files", "traces of its ranks"),
      field<&Row::first_file>("first_file",
                              "the first of them by name, from the folder that holds those of all jobs found"),
      field<&Row::ranks>("ranks", "ranks with a trace"), unless_zero<&Row::world_size>("world_size", "null: not known"),
      field<&Row::hosts>("hosts", "those that its traces name"),
      unless_zero<&Row::start_ns>("start_ns",
                                  "Unix time of its first event, by the clock of that rank; null: no event has a time"),
      field<&Row::duration_ns>("duration_ns", "from there to its last event"),
      field<&Row::reported>("reported", "whether it is the job of this report"));
};

struct ClockFields {
  using Row = JobReport::Clock;
  static constexpr About kAbout = {"clocks", "clocks", "how the clock of a trace was corrected"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::rank>("rank", "the trace's rank"), field<&Row::session>("session", "capture of the job"),
      field<&Row::domain>("domain", "host; rank <r> where the trace names none"),
      field<&Row::offset_ns>("offset_ns", "what the clock is ahead of the reference"),
      field<&Row::drift_ppb>("drift_ppb", "by how much it runs faster"),
      known<&Row::uncertainty_ns>("uncertainty_ns",
                                  "half width of a 95 % interval against the reference of its session's largest "
                                  "component; null: unknown, as of all ranks outside it"),
      field<&Row::method>("method", "what was applied; wallclock: as recorded"),
      field<&Row::aligned>("aligned", "aligned by collectives to the reference of its session's largest component"),
      field<&Row::component>("component", "row of components"),
      field<&Row::bend_ns>("bend_ns", "largest deviation from the line; 0 except for method bent"),
      known<&Row::proven_ns>("proven_ns",
                             "cause and effect alone prove the clock right to this; null: nothing is proven"));
};

struct ComponentFields {
  using Row = JobReport::Component;
  static constexpr About kAbout = {"components", "", "ranks on one clock"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::session>("session", "capture of the job"),
                      field<&Row::ranks>("ranks", "ranks whose clocks can be compared"),
                      field<&Row::window_ns>("window_ns", "from their first event to their last"));
};

struct CommunicatorFields {
  using Row = JobReport::CommunicatorRow;
  static constexpr About kAbout = {"communicators", "communicators", "a group of ranks that communicate"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::id>("id", "what other rows call it"), field<&Row::name>("name", "its name in the traces"),
      field<&Row::desc>("desc", "its description in the traces"), field<&Row::ranks>("ranks", "its members"),
      field<&Row::size>("size", "how many members it has"),
      known<&Row::nodes>("nodes", "distinct hosts of the ranks present; null: no trace names its host"),
      field<&Row::collectives>("collectives", "instances of its calls"),
      text<&Row::link>("link", "what the members talk over; null: not known"),
      known<&Row::link_peak_gb_per_s>("link_peak_gb_per_s", "what the link can do, of one member, one direction"));
};

struct CommunicatorRank {
  int32_t communicator = 0, position = 0, rank = 0;
};
struct CommunicatorRankFields {
  using Row = CommunicatorRank;
  static constexpr About kAbout = {"", "communicator_ranks", "a member of a group: communicators.ranks as rows"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::communicator>("communicator", "id of communicators[]"),
                      field<&Row::position>("position", "among the group's members, from 0"),
                      field<&Row::rank>("rank", "the member; not in the table ranks where the job lacks its trace"));
};

struct RankFields {
  using Row = JobReport::RankRow;
  static constexpr About kAbout = {"ranks", "ranks", "where the time of a rank went"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::rank>("rank", "the rank"), text<&Row::host>("host", "its machine"),
      known<&Row::device>("device", "number of its GPU"), text<&Row::device_name>("device_name", "name of its GPU"),
      field<&Row::total_ns>("total_ns", "from its first event to its last, over all captures"),
      field<&Row::compute_ns>("compute_ns", "while its GPU computed"),
      field<&Row::communication_ns>("communication_ns", "while any of its calls ran, hidden or not"),
      field<&Row::exposed_communication_ns>(
          "exposed_communication_ns",
          "the rank communicated and computed nothing: the sum of blocking, coincided and unknown; with compute_ns, "
          "exposed_memcpy_ns, idle_host_wait_ns, idle_kernel_wait_ns and idle_other_ns it sums to total_ns"),
      field<&Row::blocking_communication_ns>("blocking_communication_ns",
                                             "of exposed_communication_ns: the next row that computed or copied, or "
                                             "the host that launched it, waited for the call"),
      field<&Row::coincided_communication_ns>(
          "coincided_communication_ns",
          "of exposed_communication_ns: the rank would have computed nothing anyway: the next row had not been "
          "launched and the host waited for no call, or it began while calls still ran, or the GPU copied"),
      field<&Row::unknown_communication_ns>(
          "unknown_communication_ns",
          "of exposed_communication_ns: the trace does not show: the next row's launch is not in it, or came long "
          "after a pause of the host, or the row began long after the last call ended, or no row follows"),
      known<&Row::instant_calls_saved_ns>(
          "instant_calls_saved_ns",
          "by how much the rank would be through earlier if its calls took no time and waited for nobody, replayed "
          "alone: blocking_communication_ns, less what launches would hold up then; null: no call of the job is "
          "matched, the rank has no GPU rows, or with its calls as recorded the replay does not come to the recorded "
          "length within 1 %"),
      field<&Row::exposed_memcpy_ns>("exposed_memcpy_ns", "memory copies that nothing hides"),
      field<&Row::busy_ns>("busy_ns", "computing, or copying while nothing else ran"),
      field<&Row::idle_ns>("idle_ns", "while its GPU did nothing"),
      field<&Row::idle_host_wait_ns>("idle_host_wait_ns",
                                     "of idle_ns: the gap ended with a row whose launch began after the gap did"),
      field<&Row::idle_kernel_wait_ns>("idle_kernel_wait_ns", "of idle_ns: launched in time, started within 30 us"),
      field<&Row::idle_other_ns>("idle_other_ns", "of idle_ns: the rest"),
      field<&Row::collectives>("collectives", "its calls"),
      field<&Row::wait_ns>("wait_ns", "in calls, for other members"),
      field<&Row::transfer_ns>("transfer_ns", "in calls, moving bytes"),
      field<&Row::unattributed_ns>("unattributed_ns", "in calls that could not be split"),
      field<&Row::exposed_wait_ns>("exposed_wait_ns",
                                   "while the rank computed nothing; where calls overlap, each nanosecond counts once: "
                                   "as transfer, else as wait"),
      field<&Row::exposed_transfer_ns>("exposed_transfer_ns", "transfer while the rank computed nothing"),
      field<&Row::late_count>("late_count", "instances in which it arrived last"),
      field<&Row::delay_caused_ns>("delay_caused_ns", "waiting of others that it causes where it arrived last"),
      known<&Row::measured_wait_ns>("measured_wait_ns",
                                    "waiting as its device measured it (Ascend), summed over calls that were split; "
                                    "null: not measured"),
      known<&Row::split_of_measured_ns>("split_of_measured_ns",
                                        "waiting of the calls in measured_wait_ns by their arrivals; null: not "
                                        "measured"));
};

struct StragglerFields {
  using Row = JobReport::Straggler;
  static constexpr About kAbout = {"stragglers", "stragglers", "a rank for which others waited"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::rank>("rank", "the rank"),
      field<&Row::component>("component", "row of components: what is saved is saved of its length"),
      field<&Row::late_count>("late_count", "instances in which it arrived last"),
      field<&Row::late_candidates>("late_candidates", "complete instances that were split, in which it took part"),
      field<&Row::late_share>("late_share", "late_count / late_candidates"),
      field<&Row::wait_caused_ns>("wait_caused_ns", "waiting of others that it causes where it arrived last"),
      unless_none<&Row::cause>(
          "cause",
          "what most of the wait that the rank causes comes from: slower_kernels, the same kernels, launched alike, "
          "took longer; other_kernels, it ran more or others; other_shapes, the same kernels as often, on other grids; "
          "copies; transfer_elsewhere and wait_elsewhere, in its other groups; host, its host launched late; idle; "
          "program, what ranks of the same program spend, too; null: not determined"),
      where<&Row::cause_share, &is_given<&Row::cause>>("cause_share", "what of wait_originated_ns that cause has"),
      unless_none<&Row::standing>(
          "standing",
          "whether the simulated job gets clearly faster with this rank as fast as its peers; null: not replayed"),
      field<&Row::wait_originated_ns>(
          "wait_originated_ns", "waiting of others that it causes, also through ranks that it held up in other groups"),
      where<&Row::saved_ns, &is_given<&Row::standing>>(
          "saved_ns", "by which the job is shorter with this rank as fast as its peers"),
      where<&Row::saved_at_least, &is_given<&Row::standing>>(
          "saved_at_least", "whether saved_ns is a bound: see what_if; null: not replayed"),
      where<&Row::saved_share, &is_given<&Row::standing>>(
          "saved_share", "of what the job is shorter with every rank as fast as its peers"),
      unless_none<&Row::pattern>("pattern", "null: it was never last"));
};

struct StepFields {
  using Row = JobReport::StepRow;
  static constexpr About kAbout = {"steps", "steps", "a step of the job"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::session>("session", "which capture of the job"), field<&Row::step>("step", "N of ProfilerStep#N"),
      field<&Row::start_ns>("start_ns", "since the job's first event"),
      field<&Row::duration_ns>("duration_ns", "length of the step; steps that follow one another leave nothing out"),
      field<&Row::ranks>("ranks", "ranks that launched something in it"),
      field<&Row::gpu_rows>("gpu_rows", "kernels, copies and fills launched in it, of all ranks"),
      field<&Row::collectives>("collectives", "collective calls launched in it, of all ranks"),
      field<&Row::host_start_ns>("host_start_ns",
                                 "when the first host began ProfilerStep#N, since the job's first event"),
      field<&Row::host_duration_ns>(
          "host_duration_ns",
          "from then until the last host ended it: hosts run ahead, so this is no length of the step"),
      field<&Row::blocking_wait_ns>("blocking_wait_ns",
                                    "of all ranks: exposed communication in their steps that blocked them "
                                    "(ranks[].blocking_communication_ns) while the call waited for other members"),
      field<&Row::blocking_transfer_ns>("blocking_transfer_ns", "the same while the call moved bytes"),
      field<&Row::blocking_unattributed_ns>("blocking_unattributed_ns",
                                            "the same of calls that are not split, or whose uncertainty is not known"),
      unless_none<&Row::blocked_by>(
          "blocked_by",
          "what of the blocking time waiting for others is: transfer, a third at most; arrival_skew, two thirds at "
          "least; mixed, in between; inconclusive, uncertainties of the waits and calls that are not split leave more "
          "than a third of the time open; null, nothing blocked"));
};

struct ComponentStepFields {
  using Row = JobReport::StepRow;
  static constexpr About kAbout = {"", "component_steps", "a step of one component of the job"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::component>("component", "row of components"),
      field<&Row::session>("session", "which capture of the job"), field<&Row::step>("step", "N of ProfilerStep#N"),
      field<&Row::start_ns>("start_ns", "since the job's first event"),
      field<&Row::duration_ns>("duration_ns", "length of the step; steps that follow one another leave nothing out"),
      field<&Row::ranks>("ranks", "ranks that launched something in it"),
      field<&Row::gpu_rows>("gpu_rows", "kernels, copies and fills launched in it, of all ranks"),
      field<&Row::collectives>("collectives", "collective calls launched in it, of all ranks"),
      field<&Row::blocking_wait_ns>("blocking_wait_ns",
                                    "of all ranks: exposed communication in their steps that blocked them "
                                    "(ranks[].blocking_communication_ns) while the call waited for other members"),
      field<&Row::blocking_transfer_ns>("blocking_transfer_ns", "the same while the call moved bytes"),
      field<&Row::blocking_unattributed_ns>("blocking_unattributed_ns",
                                            "the same of calls that are not split, or whose uncertainty is not known"),
      unless_none<&Row::blocked_by>(
          "blocked_by",
          "what of the blocking time waiting for others is: transfer, a third at most; arrival_skew, two thirds at "
          "least; mixed, in between; inconclusive, uncertainties of the waits and calls that are not split leave more "
          "than a third of the time open; null, nothing blocked"));
};

struct RankStepFields {
  using Row = JobReport::RankStep;
  static constexpr About kAbout = {"", "rank_steps",
                                   "what a rank's GPU did in one step; the parts sum to its own step"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::rank>("rank", "the rank"), field<&Row::session>("session", "capture of the job"),
      field<&Row::step>("step", "N of ProfilerStep#N"), field<&Row::compute_ns>("compute_ns", "while the GPU computed"),
      field<&Row::exposed_transfer_ns>("exposed_transfer_ns", "transfer while the rank computed nothing"),
      field<&Row::exposed_wait_ns>("exposed_wait_ns", "waiting while the rank computed nothing"),
      field<&Row::exposed_unattributed_ns>("exposed_unattributed_ns",
                                           "communication that could not be split, while the rank computed nothing"),
      field<&Row::exposed_memcpy_ns>("exposed_memcpy_ns", "memory copies that nothing hides"),
      field<&Row::idle_ns>("idle_ns", "while the GPU did nothing"),
      field<&Row::start_ns>("start_ns", "since the job's first event"),
      field<&Row::gpu_rows>("gpu_rows", "kernels, copies and fills launched in it"),
      field<&Row::collectives>("collectives", "collective calls launched in it"),
      field<&Row::host_start_ns>("host_start_ns", "when the host began ProfilerStep#N, since the job's first event"),
      field<&Row::host_duration_ns>("host_duration_ns", "until it ended it"),
      known<&Row::host_launch_ns>(
          "host_launch_ns",
          "of host_duration_ns, while any thread was in a call that launches GPU work; null: the "
          "trace has no launches"),
      known<&Row::host_wait_ns>("host_wait_ns",
                                "of host_duration_ns, while any thread that launches waited for the GPU (such as "
                                "cudaStreamSynchronize); null: the trace has no launches"));
};

struct OutsideStepsFields {
  using Row = JobReport::OutsideSteps;
  static constexpr About kAbout = {"", "outside_steps", "what of a rank's window is in none of its steps"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::rank>("rank", "the rank"), field<&Row::session>("session", "capture of the job"),
      field<&Row::place>("place", "before its first step, between steps, or after its last"),
      field<&Row::gpu_rows>("gpu_rows", "kernels, copies and fills"),
      field<&Row::compute_ns>("compute_ns", "while the GPU computed"),
      field<&Row::exposed_transfer_ns>("exposed_transfer_ns", "transfer while the rank computed nothing"),
      field<&Row::exposed_wait_ns>("exposed_wait_ns", "waiting while the rank computed nothing"),
      field<&Row::exposed_unattributed_ns>("exposed_unattributed_ns",
                                           "communication that could not be split, while the rank computed nothing"),
      field<&Row::exposed_memcpy_ns>("exposed_memcpy_ns", "memory copies that nothing hides"),
      field<&Row::idle_ns>("idle_ns", "while the GPU did nothing"));
};

struct CauseFields {
  using Row = JobReport::CauseRow;
  static constexpr About kAbout = {"", "causes", "what a late rank did longer than its peers"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::rank>("rank", "the rank"), field<&Row::cause>("cause", "what it was, as in stragglers[]"),
      field<&Row::lateness_ns>("lateness_ns",
                               "where it was last: its time since the members last left together, less the median's"),
      field<&Row::wait_originated_ns>("wait_originated_ns", "waiting of others that it causes for this reason"));
};

struct FlowFields {
  using Row = JobReport::FlowRow;
  static constexpr About kAbout = {"", "blame_flows",
                                   "blame that moved: a rank was late in one group because it had waited in another"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::rank>("rank", "the rank"),
                      field<&Row::late_in>("late_in", "id of the communicator in which it was late"),
                      field<&Row::waited_in>("waited_in", "id of the communicator in which it had waited"),
                      field<&Row::moved_ns>("moved_ns", "waiting whose blame moved"));
};

struct RankStatisticFields {
  using Row = JobReport::RankStatistic;
  static constexpr About kAbout = {
      "", "rank_statistics",
      "a figure of the ranks' own tables, over ranks; no row: made by report --rank-tables gpu, or all"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::table>("table", "table of skewscope rank"), field<&Row::key>("key", "row of that table"),
      field<&Row::metric>("metric", "column of that table"),
      field<&Row::component>("component", "row of components: ranks that are compared with each other"),
      field<&Row::ranks>("ranks", "ranks that have it"), field<&Row::min>("min", "least"),
      field<&Row::median>("median", "middle"), field<&Row::max>("max", "most"),
      field<&Row::min_rank>("min_rank", "first rank with the least"),
      field<&Row::max_rank>("max_rank", "first rank with the most"),
      field<&Row::outliers>("outliers", "ranks far from the median"));
};

}  // namespace skewscope::report
