#include "src/hang/words/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "skewscope/base/human_units.h"

namespace skewscope::hang {
namespace {

std::string rank_words(std::vector<int32_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  if (ranks.size() == 2) return fmt::format("Ranks {} and {}", ranks[0], ranks[1]);
  return fmt::format("{} {}", ranks.size() == 1 ? "Rank" : "Ranks", human_ranks(ranks));
}

// Of the best founded certainty alone.
std::vector<const Culprit*> foremost(const HangReport& report) {
  std::vector<const Culprit*> found;
  for (const Culprit& culprit : report.culprits) {
    if (culprit.certainty == Certainty::possible && report.culprits.front().certainty != Certainty::possible) break;
    found.push_back(&culprit);
  }
  return found;
}

std::string did(CulpritKind kind, bool several) {
  switch (kind) {
    case CulpritKind::missing:
      return "did not come";
    case CulpritKind::late:
      return several ? "were always late, and then did not come" : "was always late, and then did not come";
    case CulpritKind::mismatch:
      return "entered another call than the others";
    case CulpritKind::no_dump:
      return several ? "left no dump, and others wait for them" : "left no dump, and others wait for it";
    case CulpritKind::stuck:
      return several ? "came, but their GPUs do not go on" : "came, but its GPU does not go on";
  }
  return "";
}

std::string waiting_words(const HangReport& report, bool several) {
  const size_t waiting = report.waiting_ranks.size();
  if (!report.stalled) return "; nothing hangs";
  if (waiting == 0) return "";
  return fmt::format(": {} of {} ranks {} for {}", waiting, report.world_size, waiting == 1 ? "waits" : "wait",
                     several ? "them" : "it");
}

std::string top_frame(const Culprit& culprit) {
  for (const std::string& frame : culprit.stack) {
    const bool inside = frame.starts_with("distributed_c10d.py") || frame.starts_with("c10d_logger.py");
    if (!inside) return frame;
  }
  return "";
}

}  // namespace

std::string verdict_of(const HangReport& report) {
  if (report.culprits.empty()) {
    if (!report.stalled) return "All recorded calls are completed: nothing hangs.";
    return fmt::format("{} of {} ranks hang, and their dumps do not say why.", report.waiting_ranks.size(),
                       report.world_size);
  }
  const std::vector<const Culprit*> named = foremost(report);
  std::vector<int32_t> ranks;
  for (const Culprit* culprit : named) ranks.push_back(culprit->rank);
  if (named.front()->certainty == Certainty::possible) {
    return fmt::format("{} of {} ranks may be the cause; the dumps do not say which: {}.", ranks.size(),
                       report.world_size, [&] {
                         std::sort(ranks.begin(), ranks.end());
                         return human_ranks(ranks);
                       }());
  }
  std::string sentence;
  for (const CulpritKind kind :
       {CulpritKind::mismatch, CulpritKind::missing, CulpritKind::late, CulpritKind::stuck, CulpritKind::no_dump}) {
    std::vector<int32_t> of_kind;
    for (const Culprit* culprit : named) {
      if (culprit->kind == kind) of_kind.push_back(culprit->rank);
    }
    if (of_kind.empty()) continue;
    const bool several = of_kind.size() > 1;
    sentence += fmt::format("{}{} {}", sentence.empty() ? "" : "; ", rank_words(of_kind), did(kind, several));
  }
  return sentence + waiting_words(report, named.size() > 1) + ".";
}

std::string next_of(const HangReport& report) {
  if (report.culprits.empty()) {
    return report.stalled ? "make the dumps again with TORCH_NCCL_TRACE_BUFFER_SIZE=2000 or more, on all ranks"
                          : "if the job does hang, it does so outside of collectives: look at its hosts (py-spy dump)";
  }
  const Culprit& first = report.culprits.front();
  const std::string frame = top_frame(first);
  const std::string place = frame.empty() ? "" : fmt::format(" after {}", frame);
  switch (first.kind) {
    case CulpritKind::missing:
    case CulpritKind::late:
      return fmt::format(
          "run py-spy dump on the process of rank {}: it shows where the host stands{}; read its log, and look at data "
          "loader, checkpoint and locks",
          first.rank, place);
    case CulpritKind::mismatch:
      return first.stack.empty()
                 ? fmt::format(
                       "record stacks (TORCH_NCCL_TRACE_CPP_STACK, or Python's by default) to see where "
                       "rank {} and the others part",
                       first.rank)
                 : fmt::format("compare the stacks of both sides in hang.json: rank {} was in {}", first.rank,
                               frame.empty() ? first.stack.front() : frame);
    case CulpritKind::no_dump:
      return fmt::format("see whether the process of rank {} lives: read its log and its host's dmesg (OOM, Xid)",
                         first.rank);
    case CulpritKind::stuck:
      return fmt::format(
          "on the host of rank {}: dmesg (Xid), nvidia-smi -q, the links of its GPU; drain the node if in doubt",
          first.rank);
  }
  return "";
}

std::string link_words(const HangLink& link) {
  const std::string operation = link.operation.empty() ? "a call" : link.operation;
  return link.collective_seq < 0 ? fmt::format("{} in group {}", operation, link.group)
                                 : fmt::format("{} {} of group {}", operation, link.collective_seq, link.group);
}

}  // namespace skewscope::hang
