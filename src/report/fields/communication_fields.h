// The rows of a report about communication, described once.
#pragma once

#include "field.h"
#include "skewscope/model/job_report.h"

namespace skewscope::report {

struct MatchingFields {
  using Row = JobReport::Matching;
  static constexpr About kAbout = {"matching", "matching", "how calls of different ranks were matched; one row"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::calls>("calls", "calls of all ranks"), field<&Row::matched>("matched", "in instances"),
      field<&Row::unmatched>("unmatched", "in none, although other ranks should have them"),
      field<&Row::incomplete_instances>("incomplete_instances", "instances that lack members"),
      field<&Row::mismatched_instances>("mismatched_instances", "instances whose members disagree on the size"),
      text<&Row::method>("method", "what most instances were matched by; null: there are none"));
};

struct CollectiveFields {
  using Row = JobReport::CollectiveRow;
  static constexpr About kAbout = {"collectives", "collectives", "calls of one operation, size and type in one group"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::communicator>("communicator", "id of communicators[]"), field<&Row::op>("op", "the operation"),
      field<&Row::dtype>("dtype", "element type"),
      field<&Row::bytes>("bytes", "S of nccl-tests; 0: unknown", In::document),
      unless_zero<&Row::bytes>("bytes", "S of nccl-tests; null: unknown", In::tables),
      field<&Row::count>("count", "instances"), field<&Row::exposed_wait_ns>("exposed_wait_ns", "sum over calls"),
      field<&Row::exposed_transfer_ns>("exposed_transfer_ns", "sum over calls"),
      times<&Row::wait_ns>("wait_ns", "waiting of a call for other members"),
      times<&Row::transfer_ns>("transfer_ns", "moving bytes"),
      times<&Row::start_skew_ns>("start_skew_ns", "from the first arrival to the last"),
      times<&Row::end_skew_ns>("end_skew_ns", "from the first end to the last"),
      rates<&Row::algo_bandwidth_gb_per_s>("algo_bandwidth_gb_per_s", "S over the time of the transfer"),
      rates<&Row::bus_bandwidth_gb_per_s>("bus_bandwidth_gb_per_s", "the same times the bus factor of nccl-tests"),
      known<&Row::measured_wait_ns>("measured_wait_ns",
                                    "waiting as devices measured it (Ascend), summed over calls that were split; null: "
                                    "no device measures it"),
      known<&Row::split_of_measured_ns>("split_of_measured_ns",
                                        "waiting of the calls in measured_wait_ns by their arrivals; null: no device "
                                        "measures it"));
};

struct TransportFields {
  using Row = TransportRow;
  static constexpr About kAbout = {"transports", "transports",
                                   "instances of one operation, size and group size by the algorithm and protocol that "
                                   "the library chose; of those that recorded them"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::op>("op", "the operation"), unless_zero<&Row::bytes>("bytes", "S of nccl-tests; null: unknown"),
      field<&Row::size>("size", "ranks of the communicator"),
      unless_none<&Row::algorithm>("algorithm", "how ranks are joined: ring, tree, ...; null: of a name not known"),
      unless_none<&Row::protocol>("protocol", "ll, ll128 or simple; null: of a name not known"),
      field<&Row::count>("count", "instances"), times<&Row::transfer_ns>("transfer_ns", "moving bytes"),
      rates<&Row::algo_bandwidth_gb_per_s>("algo_bandwidth_gb_per_s", "S over the time of the transfer"),
      rates<&Row::bus_bandwidth_gb_per_s>("bus_bandwidth_gb_per_s", "the same times the bus factor of nccl-tests"));
};

inline bool has_candidates(const TrendRow& row) { return row.late_candidates > 0; }

struct TrendFields {
  using Row = TrendRow;
  static constexpr About kAbout = {
      "trend", "trend",
      "what a rank did to the others in one of the equal windows of a long job; none where "
      "the job is shorter than ten seconds"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::session>("session", "capture of the job"),
      field<&Row::start_ns>(
          "start_ns",
          "of the window, since the job's first event; a call whose time is not recorded counts where "
          "it was written"),
      field<&Row::duration_ns>("duration_ns", "of the window"), field<&Row::rank>("rank", "the rank"),
      field<&Row::collectives>("collectives", "its calls that ended in the window"),
      field<&Row::wait_ns>("wait_ns", "in these, for other members"),
      field<&Row::wait_caused_ns>("wait_caused_ns", "waiting of others that it caused where it arrived last"),
      field<&Row::late_count>("late_count", "instances in which it arrived last"),
      field<&Row::late_candidates>("late_candidates", "complete instances that were split, in which it took part"),
      where<&Row::late_share, &has_candidates>("late_share", "late_count / late_candidates"));
};

struct CollectiveStepFields {
  using Row = JobReport::CollectiveStep;
  static constexpr About kAbout = {"", "collective_steps", "calls launched in one step, summed over members"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::communicator>("communicator", "id of communicators[]"), field<&Row::op>("op", "the operation"),
      field<&Row::dtype>("dtype", "element type"), unless_zero<&Row::bytes>("bytes", "S of nccl-tests; null: unknown"),
      field<&Row::session>("session", "capture of the job"), field<&Row::step>("step", "N of ProfilerStep#N"),
      field<&Row::calls>("calls", "calls of all members"),
      field<&Row::wait_ns>("wait_ns", "in calls, for other members"),
      field<&Row::transfer_ns>("transfer_ns", "in calls, moving bytes"),
      field<&Row::exposed_wait_ns>("exposed_wait_ns", "waiting while the rank computed nothing"),
      field<&Row::exposed_transfer_ns>("exposed_transfer_ns", "transfer while the rank computed nothing"));
};

inline bool is_timed(const JobReport::CallRow& row) { return row.timed; }

struct CallFields {
  using Row = JobReport::CallRow;
  static constexpr About kAbout = {"", "collective_ranks", "a rank's part in one instance"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::instance>("instance", "number of the instance"),
      field<&Row::communicator>("communicator", "id of communicators[]"),
      field<&Row::seq>("seq", "Seq where recorded, else the position within its communicator"),
      field<&Row::op>("op", "the operation"), field<&Row::dtype>("dtype", "element type"),
      unless_zero<&Row::bytes>("bytes", "S of nccl-tests; null: unknown"), field<&Row::rank>("rank", "the rank"),
      where<&Row::start_ns, &is_timed>("start_ns", "since the job's first event; null: only durations are recorded"),
      where<&Row::end_ns, &is_timed>("end_ns", "since the job's first event; null: only durations are recorded"),
      known<&Row::wait_ns>("wait_ns", "waiting for other members; with transfer_ns it sums to the length"),
      known<&Row::transfer_ns>("transfer_ns", "moving bytes"),
      known<&Row::exposed_ns>("exposed_ns",
                              "of its length, while the rank computed nothing; null: nothing but calls is recorded"),
      field<&Row::complete>("complete", "whether every member is there"),
      field<&Row::note>("note", "why it was not split, or what weakens the split"),
      known<&Row::wait_bar_ns>("wait_bar_ns", "half width of a 95 % interval of the wait"),
      field<&Row::basis>("basis", "what the split rests on: clocks or durations"),
      known<&Row::step>("step", "step that the rank launched it in"),
      known<&Row::measured_wait_ns>("measured_wait_ns",
                                    "waiting as the device itself measured it, next to wait_ns, which comes of the "
                                    "arrivals; a sender counts the time in which its peer reads, too; null: not "
                                    "measured (only Ascend's devices measure it)"));
};

struct UnmatchedFields {
  using Row = JobReport::UnmatchedRow;
  static constexpr About kAbout = {"", "unmatched", "a call that is in no instance"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::rank>("rank", "the rank"), known<&Row::communicator>("communicator", "id of communicators[]"),
      field<&Row::op>("op", "the operation"), field<&Row::dtype>("dtype", "element type"),
      field<&Row::reason>("reason", "why, as unmatched-REASON of configs/findings.md says"),
      field<&Row::kernel>("kernel", "name of its kernel"),
      field<&Row::start_ns>("start_ns", "since the job's first event"),
      field<&Row::duration_ns>("duration_ns", "its length"));
};

struct OverlapFields {
  using Row = JobReport::OverlapRow;
  static constexpr About kAbout = {"overlap", "overlap",
                                   "communication hidden and exposed, of one kind of group, operation, size and phase"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::group>("group_kind",
                        "what traces call groups of this kind (Process Group Description), else \"group of 4\"; null: "
                        "the calls name no group"),
      known<&Row::size>("size", "ranks of each group"),
      known<&Row::nodes>("nodes", "hosts that the ranks of each group lie on; null: hosts are not known"),
      field<&Row::groups>("groups", "groups of this kind"), field<&Row::op>("op", "the operation"),
      known<&Row::bytes_up_to>("bytes_up_to",
                               "messages of at most so many bytes, and of more than a tenth of that (1000: of any "
                               "smaller size, too); null: sizes are not known"),
      text<&Row::phase>("phase",
                        "part of the step in which the hosts launched the calls: backward by a thread of the backward "
                        "pass, optimizer within an Optimizer.step range, forward by the thread of the steps before the "
                        "step's backward pass has launched all; null: it is not known, as of messages outside of the "
                        "backward threads, and of calls behind the backward pass and outside of the optimizer's range"),
      field<&Row::calls>("calls", "calls of all ranks, also those that are in no instance"),
      field<&Row::time_ns>("time_ns", "length of the calls: wait, transfer and what was not split"),
      field<&Row::wait_ns>("wait_ns", "waiting for other ranks"),
      field<&Row::transfer_ns>("transfer_ns", "moving bytes"),
      field<&Row::unattributed_ns>("unattributed_ns", "not split"),
      known<&Row::hidden_ns>("hidden_ns", "of time_ns, while the rank computed; null: the traces have no GPU rows"),
      known<&Row::hidden_share>("hidden_share", "hidden_ns / time_ns: of the calls"),
      field<&Row::exposed_wait_ns>("exposed_wait_ns", "waiting while the rank computed nothing"),
      field<&Row::exposed_transfer_ns>("exposed_transfer_ns", "transfer while the rank computed nothing"),
      field<&Row::exposed_unattributed_ns>("exposed_unattributed_ns", "not split, while the rank computed nothing"));
};

struct OverlapModuleFields {
  using Row = JobReport::OverlapRow;
  static constexpr About kAbout = {
      "overlap_modules", "overlap_modules",
      "communication hidden and exposed, of one kind of group, operation, module and phase"};
  static constexpr auto kFields = std::make_tuple(
      text<&Row::group>("group_kind",
                        "what traces call groups of this kind (Process Group Description), else \"group of 4\"; null: "
                        "the calls name no group"),
      known<&Row::size>("size", "ranks of each group"),
      known<&Row::nodes>("nodes", "hosts that the ranks of each group lie on; null: hosts are not known"),
      field<&Row::groups>("groups", "groups of this kind"), field<&Row::op>("op", "the operation"),
      text<&Row::module>("module",
                         "the innermost range of the host around the launch that names a part of the model: "
                         "\"Linear_3\" of nn.Module rows (torch.profiler with_stack or with_modules), \"layers.3\" of "
                         "FSDP's ranges, or a program's own record_function around a layer; \"other\": of more than "
                         "1,024 modules; null: none is around it, as around the buckets of DistributedDataParallel"),
      text<&Row::phase>("phase",
                        "part of the step in which the hosts launched the calls: backward by a thread of the backward "
                        "pass, optimizer within an Optimizer.step range, forward by the thread of the steps before the "
                        "step's backward pass has launched all; null: it is not known, as of messages outside of the "
                        "backward threads, and of calls behind the backward pass and outside of the optimizer's range"),
      field<&Row::calls>("calls", "calls of all ranks, also those that are in no instance"),
      field<&Row::time_ns>("time_ns", "length of the calls: wait, transfer and what was not split"),
      field<&Row::wait_ns>("wait_ns", "waiting for other ranks"),
      field<&Row::transfer_ns>("transfer_ns", "moving bytes"),
      field<&Row::unattributed_ns>("unattributed_ns", "not split"),
      known<&Row::hidden_ns>("hidden_ns", "of time_ns, while the rank computed; null: the traces have no GPU rows"),
      known<&Row::hidden_share>("hidden_share", "hidden_ns / time_ns: of the calls"),
      field<&Row::exposed_wait_ns>("exposed_wait_ns", "waiting while the rank computed nothing"),
      field<&Row::exposed_transfer_ns>("exposed_transfer_ns", "transfer while the rank computed nothing"),
      field<&Row::exposed_unattributed_ns>("exposed_unattributed_ns", "not split, while the rank computed nothing"));
};

struct AllToAllFields {
  using Row = JobReport::AllToAll;
  static constexpr About kAbout = {"all_to_all", "all_to_all_groups", "the all-to-alls of one group"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::communicator>("communicator", "id of communicators[]"),
      field<&Row::calls>("calls", "all-to-alls of the group that were matched"),
      field<&Row::calls_with_sizes>("calls_with_sizes",
                                    "of these: every member is there and records how much it sent and received in all"),
      field<&Row::bytes>("bytes", "sent by all members, in calls that record it"),
      field<&Row::dispatches>("dispatches",
                              "of calls_with_sizes: those that do not return what an earlier one of the step brought; "
                              "what follows is of them"),
      known<&Row::imbalance>("imbalance",
                             "what the rank that received most over all dispatches received, in means of the group; "
                             "null: nothing was received, or sizes are not known"),
      known<&Row::imbalance_per_call>(
          "imbalance_per_call", "the same of each dispatch, whoever received most in it; the mean, weighted by bytes"),
      known<&Row::busiest_rank>("busiest_rank", "the rank that received most over all dispatches"),
      known<&Row::busiest_share>("busiest_share", "its share of what all received"),
      field<&Row::waited_ns>("waited_ns",
                             "waiting in the group's next collective after each uneven dispatch, over members"),
      field<&Row::waited_for_busiest_ns>(
          "waited_for_busiest_ns", "part of waited_ns that the ranks cause which had received most in the dispatch"));
};

struct AllToAllRankFields {
  using Row = JobReport::AllToAll::Member;
  static constexpr About kAbout = {
      "", "all_to_all_ranks", "what a rank sent and received in all-to-alls of one group, in calls that record it"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::communicator>("communicator", "id of communicators[]"),
                      field<&Row::rank>("rank", "the rank"), field<&Row::sent_bytes>("sent_bytes", "what it sent"),
                      field<&Row::received_bytes>("received_bytes", "what it received"),
                      field<&Row::dispatched_bytes>("dispatched_bytes", "what it received in dispatches"));
};

struct AllToAllPairFields {
  using Row = JobReport::AllToAll::Pair;
  static constexpr About kAbout = {
      "", "all_to_all",
      "what one rank sent another in all-to-alls of one group, in calls that record the size of each part"};
  static constexpr auto kFields = std::make_tuple(
      field<&Row::communicator>("communicator", "id of communicators[]"),
      field<&Row::sender>("sender", "rank that sent"), field<&Row::receiver>("receiver", "rank that received"),
      field<&Row::bytes>("bytes", "what was sent"), field<&Row::calls>("calls", "in how many calls"));
};

struct BaselineFields {
  using Row = JobReport::BaselinePoint;
  static constexpr About kAbout = {"", "baseline", "what nccl-tests measured on these machines, as the user gave it"};
  static constexpr auto kFields =
      std::make_tuple(field<&Row::op>("op", "the operation; empty where the file does not say"),
                      field<&Row::source>("source", "name of the file"), field<&Row::bytes>("bytes", "S"),
                      field<&Row::bus_bandwidth_gb_per_s>("bus_bandwidth_gb_per_s", "bus bandwidth"));
};

}  // namespace skewscope::report
