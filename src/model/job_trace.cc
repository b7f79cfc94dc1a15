#include "skewscope/model/job_trace.h"

#include <tuple>

namespace skewscope {
namespace {

std::string check_order(const JobTrace& job) {
  for (size_t i = 0; i < job.traces.size(); ++i) {
    const RankTrace& trace = job.traces[i];
    const std::string where = "trace " + std::to_string(i);
    if (!trace.rank.known() || trace.rank.value >= job.world_size) return where + ": rank outside the world";
    if (!trace.session.known() || trace.session.value >= job.sessions) return where + ": session out of range";
    if (i > 0 && std::tie(job.traces[i - 1].session, job.traces[i - 1].rank) >= std::tie(trace.session, trace.rank)) {
      return where + ": not sorted by (session, rank), or twice the same";
    }
  }
  for (size_t i = 1; i < job.communicators.size(); ++i) {
    const Communicator& a = job.communicators.communicators[i - 1];
    const Communicator& b = job.communicators.communicators[i];
    if (std::tie(a.members, a.name) > std::tie(b.members, b.name)) {
      return "communicator " + std::to_string(i) + ": not sorted by (members, name)";
    }
  }
  return "";
}

std::string check_references(const RankTrace& trace, const JobTrace& job) {
  for (const StringId name : trace.gpu.name) {
    if (!name.known() || name.index() >= job.strings.size()) return "GPU row without a name in the string table";
  }
  for (const CollectiveCall& call : trace.calls) {
    if (call.communicator.known() && call.communicator.index() >= job.communicators.size()) {
      return "call of a communicator that is not in the table";
    }
  }
  return "";
}

}  // namespace

void gather_calls(JobTrace& job, Exchange& exchange) {
  tell_first(
      exchange, job.traces.size(), [&](size_t t) { return job.traces[t].process; },
      [&](ByteWriter& writer, size_t t) { writer.put(job.traces[t].calls); },
      [&](ByteReader& reader, size_t t) { reader.get(job.traces[t].calls); });
}

const char* to_string(WorldSizeSource source) {
  switch (source) {
    case WorldSizeSource::nobody:
      break;
    case WorldSizeSource::distributed_info:
      return "distributedInfo";
    case WorldSizeSource::default_group:
      return "size of default_pg";
    case WorldSizeSource::file_name:
      return "file name";
    case WorldSizeSource::largest_group:
      return "largest group";
    case WorldSizeSource::user:
      return "--world-size";
    case WorldSizeSource::file_count:
      return "number of files";
  }
  return "";
}

std::string check_invariants(const JobTrace& job) {
  if (std::string broken = check_order(job); !broken.empty()) return broken;
  if (std::string broken = check_invariants(job.communicators); !broken.empty()) return broken;
  for (size_t i = 0; i < job.traces.size(); ++i) {
    std::string broken = check_invariants(job.traces[i]);
    if (broken.empty()) broken = check_references(job.traces[i], job);
    if (!broken.empty()) return "trace " + std::to_string(i) + ": " + broken;
  }
  return "";
}

}  // namespace skewscope
