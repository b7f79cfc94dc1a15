#include "assemble_job.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "skewscope/base/common_folder.h"
#include "src/ingest/link/call_modules.h"
#include "src/ingest/ranks/group_members.h"
#include "src/ingest/ranks/sessions.h"
#include "src/ingest/text/number_list.h"

namespace skewscope::ingest {
namespace {

JobVendor vendor_of(const std::vector<RankTrace>& traces) {
  std::optional<GpuVendor> found;
  for (const RankTrace& trace : traces) {
    if (trace.gpu.size() == 0) continue;
    if (found && *found != trace.vendor) return JobVendor::mixed;
    found = trace.vendor;
  }
  const bool silent =
      std::any_of(traces.begin(), traces.end(), [](const RankTrace& trace) { return trace.calls_only; });
  if (!found) return silent ? JobVendor::unknown : JobVendor::cpu;
  switch (*found) {
    case GpuVendor::nvidia:
      return JobVendor::nvidia;
    case GpuVendor::amd:
      return JobVendor::amd;
    case GpuVendor::intel:
      return JobVendor::intel;
    case GpuVendor::other:
      break;
  }
  return JobVendor::unknown;
}

class Assembler {
 public:
  Assembler(std::vector<TraceFile>& files, const RankOverrides& overrides, const std::vector<int32_t>& only_ranks,
            const ResolvedRanks* ranks)
      : files_(files), overrides_(overrides), known_ranks_(ranks), only_ranks_(only_ranks.begin(), only_ranks.end()) {
    result_.ranks.resize(files.size());
  }

  Result<AssembledJob> assemble() {
    resolve_ranks_of_files();
    if (usable_.empty()) return Error{ErrorKind::no_input, why_nothing_is_usable()};
    keep_only_ranks();
    if (kept_.empty()) return Error{ErrorKind::no_input, "--ranks: none of the traces found has one of these ranks"};
    if (no_step_is_left()) return Error{ErrorKind::no_input, "--steps: no trace has such a step; " + recorded_steps()};
    find_sessions();
    resolve_communicators();
    collect_findings();
    name_modules();
    for (const size_t i : kept_) add_trace(files_[i]);
    describe_job();
    report_missing_ranks();
    sort_findings(result_.job.findings);
    assert(check_invariants(result_.job).empty());
    return std::move(result_);
  }

 private:
  std::string why_nothing_is_usable() const {
    std::string message = "no usable trace";
    if (files_.size() > 1) message += " among " + std::to_string(files_.size()) + " files";
    for (const TraceFile& file : files_) {
      if (!file.linked.findings.empty()) {
        const std::string& why = file.linked.findings.back().message;
        return message + "; " + (why.starts_with(file.evidence.file) ? "" : file.evidence.file + ": ") + why;
      }
    }
    return message;
  }

  void add_findings(const Findings& findings) {
    result_.job.findings.insert(result_.job.findings.end(), findings.begin(), findings.end());
  }

  void resolve_ranks_of_files() {
    std::vector<RankEvidence> evidence;
    for (size_t i = 0; i < files_.size(); ++i) {
      if (!files_[i].usable) continue;
      usable_.push_back(i);
      evidence.push_back(std::move(files_[i].evidence));  // not copied: each file may list every rank of the job
    }
    const ResolvedRanks ranks = known_ranks_ != nullptr ? *known_ranks_ : resolve_ranks(evidence, overrides_);
    report_useless_map(evidence);
    for (size_t k = 0; k < usable_.size(); ++k) files_[usable_[k]].evidence = std::move(evidence[k]);
    for (size_t k = 0; k < usable_.size(); ++k) {
      FileRank& file_rank = result_.ranks[usable_[k]];
      file_rank.rank = ranks.files[k].rank;
      file_rank.rank_source = ranks.files[k].source;
      if (ranks.files[k].synthetic) synthetic_.insert(usable_[k]);
    }
    result_.job.world_size = ranks.world_size;
    result_.job.world_size_source = ranks.world_size_source;
    add_findings(ranks.findings);
  }

  void report_useless_map(const std::vector<RankEvidence>& evidence) {
    const bool used = std::any_of(evidence.begin(), evidence.end(), [&](const RankEvidence& file) {
      return overrides_.from_map(file) >= 0 || !overrides_.host_from_map(file).empty();
    });
    if (!overrides_.has_map() || used) return;
    result_.job.findings.push_back(
        finding_of_job(Severity::warning, "rank-map-no-match",
                       "--rank-map names none of the traces that were read; ranks come from other sources"));
  }

  void keep_only_ranks() {
    for (const size_t i : usable_) {
      if (only_ranks_.empty() || only_ranks_.count(result_.ranks[i].rank.value) > 0) kept_.push_back(i);
    }
  }

  bool no_step_is_left() const {
    return std::all_of(kept_.begin(), kept_.end(), [&](size_t i) {
      return files_[i].steps_before_filter.has_value() && files_[i].linked.trace.steps.empty();
    });
  }

  std::string recorded_steps() const {
    std::set<int64_t> steps;
    for (const size_t i : kept_)
      steps.insert(files_[i].steps_before_filter->begin(), files_[i].steps_before_filter->end());
    if (steps.empty()) return "no step was recorded (ProfilerStep#N)";
    return "recorded steps are " + std::to_string(*steps.begin()) + " to " + std::to_string(*steps.rbegin());
  }

  void find_sessions() {
    std::vector<Capture> captures;
    for (const size_t i : kept_) {
      const TraceFile& file = files_[i];
      captures.push_back({file.evidence.file, result_.ranks[i].rank, file.evidence.name.capture,
                          file.evidence.name.capture_number, file.evidence.first_event, file.evidence.last_event,
                          std::ssize(file.linked.trace.calls) + file.calls_elsewhere});
    }
    const AssignedSessions sessions = assign_sessions(captures);
    add_findings(sessions.findings);
    result_.job.sessions = sessions.sessions;
    std::vector<size_t> in_job;
    for (size_t k = 0; k < kept_.size(); ++k) {
      FileRank& file_rank = result_.ranks[kept_[k]];
      file_rank.session = sessions.of_capture[k];
      if (file_rank.session.known()) in_job.push_back(kept_[k]);
    }
    kept_ = std::move(in_job);
    std::sort(kept_.begin(), kept_.end(), [&](size_t a, size_t b) {
      return std::tie(result_.ranks[a].session, result_.ranks[a].rank) <
             std::tie(result_.ranks[b].session, result_.ranks[b].rank);
    });
  }

  void resolve_communicators() {
    std::vector<TraceGroups> traces;
    for (const size_t i : kept_) {
      traces.push_back({result_.ranks[i].rank, synthetic_.count(i) > 0, files_[i].evidence.file,
                        &files_[i].evidence.distributed.groups, &files_[i].linked.groups, files_[i].format});
    }
    ResolvedGroups groups = resolve_groups(traces, result_.job.world_size);
    add_findings(groups.findings);
    result_.job.communicators = std::move(groups.communicators);
    for (size_t t = 0; t < kept_.size(); ++t) set_communicators(files_[kept_[t]].linked, groups.of_mention[t]);
  }

  void set_communicators(LinkedTrace& linked, const std::vector<CommunicatorId>& of_mention) const {
    for (size_t i = 0; i < linked.trace.calls.size(); ++i) {
      CollectiveCall& call = linked.trace.calls[i];
      const OpenCall& open = linked.open_calls[i];
      if (open.group < 0) continue;
      call.communicator = of_mention[static_cast<size_t>(open.group)];
      if (!call.communicator.known()) continue;
      const Communicator& communicator = result_.job.communicators[call.communicator];
      call.root = member(communicator, open.root_in_group);
      if (!call.peer.known()) call.peer = member(communicator, open.peer_in_group);
    }
    for (size_t i = 0; i < linked.trace.messages.size(); ++i) {
      BatchMessage& message = linked.trace.messages[i];
      const CommunicatorId id = linked.trace.calls[static_cast<size_t>(message.call)].communicator;
      if (message.peer.known() || !id.known()) continue;
      message.peer = member(result_.job.communicators[id], linked.open_peers[i]);
    }
    put_in_order(linked.trace.messages);
  }

  // What was told of one peer by its number in the group and in the job is one message.
  static void put_in_order(Column<BatchMessage>& messages) {
    const auto key = [](const BatchMessage& m) { return std::tie(m.call, m.peer, m.sends); };
    std::stable_sort(messages.begin(), messages.end(),
                     [&](const BatchMessage& a, const BatchMessage& b) { return key(a) < key(b); });
    size_t kept = 0;
    for (const BatchMessage& message : messages) {
      if (kept > 0 && message.peer.known() && key(messages[kept - 1]) == key(message)) {
        BatchMessage& known = messages[kept - 1];
        const bool fits =
            known.elements >= 0 && message.elements >= 0 && known.elements <= INT64_MAX - message.elements;
        known.elements = fits ? known.elements + message.elements : -1;
        if (known.dtype != message.dtype) known.dtype = DType::unknown;
      } else {
        messages[kept++] = message;
      }
    }
    messages.resize(kept);
  }

  // Member number `position` of the group; none where the list is not known in full.
  static Rank member(const Communicator& communicator, int64_t position) {
    const bool listed = communicator.members_known() && position >= 0 && position < communicator.size;
    return listed ? communicator.members[static_cast<size_t>(position)] : Rank();
  }

  void collect_findings() {
    for (size_t i = 0; i < files_.size(); ++i) {
      for (Finding& finding : files_[i].linked.findings) {
        if (!finding.rank.known()) finding.rank = result_.ranks[i].rank;
      }
      add_findings(files_[i].linked.findings);
    }
    for (Finding& finding : result_.job.findings) {
      if (finding.rank.known() || finding.file.empty()) continue;
      for (size_t i = 0; i < files_.size(); ++i) {
        if (files_[i].evidence.file == finding.file) finding.rank = result_.ranks[i].rank;
      }
    }
  }

  // Those of all traces, in one order whichever came first.
  void name_modules() {
    std::vector<std::string>& modules = result_.job.modules;
    for (const size_t i : kept_) {
      for (const std::string& name : files_[i].linked.modules) module_row(name, modules);
    }
    std::sort(modules.begin(), modules.end());
  }

  // Names get ids of the job's table in order of first use, trace by trace.
  void add_trace(TraceFile& file) {
    const FileRank& file_rank = result_.ranks[static_cast<size_t>(&file - files_.data())];
    RankTrace trace = std::move(file.linked.trace);
    trace.rank = file_rank.rank;
    trace.session = file_rank.session;
    trace.rank_source = file_rank.rank_source;
    std::vector<StringId> job_id(file.linked.strings.size());
    for (StringId& name : trace.gpu.name) {
      StringId& id = job_id[name.index()];
      if (!id.known()) id = result_.job.strings.intern(file.linked.strings.view(name));
      name = id;
    }
    std::vector<int32_t> job_module;
    for (const std::string& name : file.linked.modules) job_module.push_back(module_row(name, result_.job.modules));
    for (CollectiveCall& call : trace.calls) {
      if (call.module >= 0) call.module = job_module[static_cast<size_t>(call.module)];
    }
    file.linked.strings = StringTable();
    result_.job.traces.push_back(std::move(trace));
  }

  void describe_job() {
    JobTrace& job = result_.job;
    job.vendor = vendor_of(job.traces);
    for (const TraceFile& file : files_) {
      job.bytes_read += file.bytes;
      job.events_read += file.events;
    }
    job.name = recorded_name();
    if (job.name.empty()) job.name = folder_name();
  }

  // The name most traces carry; the first one on a tie.
  std::string recorded_name() const {
    std::map<std::string, int64_t> names;
    for (const size_t i : kept_) ++names[files_[i].job_name];
    names.erase("");
    const auto most =
        std::max_element(names.begin(), names.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == names.end() ? "" : most->first;
  }

  // Base name of the deepest folder that holds all traces.
  std::string folder_name() const {
    std::vector<std::filesystem::path> folders;
    for (const size_t i : kept_) folders.emplace_back(files_[i].evidence.folder);
    return common_folder(folders).filename().string();
  }

  // ", a whole host: each other has 4 ranks", where the hosts that are there have equally many ranks side by side, and
  // what is missing is whole blocks of as many.
  std::string missing_hosts(int32_t session, const std::vector<int32_t>& missing) const {
    std::map<std::string, std::set<int32_t>> by_host;
    for (const RankTrace& trace : result_.job.traces) {
      if (trace.session.value == session) by_host[trace.host].insert(trace.rank.value);
    }
    if (by_host.empty() || by_host.count("") > 0) return "";
    const auto each = static_cast<int32_t>(by_host.begin()->second.size());
    const auto is_block = [each](int32_t first, int32_t last, int32_t count) {
      return count == each && first % each == 0 && last - first == each - 1;
    };
    const bool alike =
        each > 1 && std::all_of(by_host.begin(), by_host.end(), [&](const auto& host) {
          return is_block(*host.second.begin(), *host.second.rbegin(), static_cast<int32_t>(host.second.size()));
        });
    if (!alike || missing.size() % static_cast<size_t>(each) != 0) return "";
    for (size_t i = 0; i < missing.size(); i += static_cast<size_t>(each)) {
      if (!is_block(missing[i], missing[i + static_cast<size_t>(each) - 1], each)) return "";
    }
    const size_t hosts = missing.size() / static_cast<size_t>(each);
    return (hosts == 1 ? ", a whole host: " : ", " + std::to_string(hosts) + " whole hosts: ") +
           (by_host.size() == 1 ? by_host.begin()->first : "each other") + " has " + std::to_string(each) + " ranks";
  }

  void report_missing_ranks() {
    JobTrace& job = result_.job;
    std::vector<int32_t> expected(only_ranks_.begin(), only_ranks_.end());
    if (expected.empty()) {
      for (int32_t rank = 0; rank < job.world_size; ++rank) expected.push_back(rank);
    }
    std::string message;
    int64_t count = 0;
    for (int32_t session = 0; session < job.sessions; ++session) {
      std::set<int32_t> present;
      for (const RankTrace& trace : job.traces) {
        if (trace.session.value == session) present.insert(trace.rank.value);
      }
      std::vector<int32_t> missing;
      std::set_difference(expected.begin(), expected.end(), present.begin(), present.end(),
                          std::back_inserter(missing));
      if (missing.empty()) continue;
      count += static_cast<int64_t>(missing.size());
      message += (message.empty() ? "no trace of rank " : "; ") + as_ranges(missing);
      message += missing_hosts(session, missing);
      if (job.sessions > 1) message += " in session " + std::to_string(session);
    }
    if (message.empty()) return;
    job.findings.push_back(finding_of_job(Severity::warning, "missing-ranks",
                                          message + ": collectives lack these ranks, so their waiting is a lower bound",
                                          count));
  }

  std::vector<TraceFile>& files_;
  const RankOverrides& overrides_;
  const ResolvedRanks* const known_ranks_;  // null: to be resolved
  const std::set<int32_t> only_ranks_;
  std::vector<size_t> usable_, kept_;  // rows of files_; kept_ by (session, rank) once sessions are known
  std::set<size_t> synthetic_;
  AssembledJob result_;
};

}  // namespace

Result<AssembledJob> assemble_job(std::vector<TraceFile>& files, const RankOverrides& overrides,
                                  const std::vector<int32_t>& only_ranks, const ResolvedRanks* ranks) {
  return Assembler(files, overrides, only_ranks, ranks).assemble();
}

}  // namespace skewscope::ingest
