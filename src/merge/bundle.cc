// Problem: hand Perfetto the traces as they are, of any size, and tell it how their clocks lie. Idea: a ZIP in
// which a manifest says, per file, by what it is moved (https://perfetto.dev/docs/reference/perfetto-manifest,
// version 1). A plain file is stored; the deflate stream of a gzip file is copied as a deflated member, because
// Perfetto moves no member that is an archive itself. Nothing is compressed again. libzip copies in small pieces and
// uses ZIP64 where needed.
//
// An offset is constant, so that it is taken in the middle of each trace; the manifest has the drift to those who
// need better. Perfetto drops what is moved before the time of the file that the others are joined to: it is the
// earliest.
#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "gzip_body.h"
#include "skewscope/base/printable.h"
#include "skewscope/merge.h"
#include "skewscope/model/clock_components.h"

namespace skewscope {
namespace merge {
namespace {

using Json = nlohmann::ordered_json;

// One trace as a member of a bundle.
struct BundleMember {
  TraceIndex trace;
  std::string path;          // of the file as it lies there: .json or .json.gz
  int64_t base_time_ns = 0;  // what its time stamps count from
};

std::string member_name(const RankTrace& trace, int32_t sessions) {
  const std::string session = sessions > 1 ? fmt::format("session{}_", trace.session.value) : "";
  return fmt::format("{}rank{}.json", session, trace.rank.value);
}

// On the clock of the trace, when the common clock shows `t`.
LocalNs local_at(const ClockModel& clocks, TraceIndex trace, JobNs t) {
  LocalNs c{t.ns + clocks.clocks[trace.index()].offset_ns};
  for (int round = 0; round < 3; ++round) c = c + (t - clocks.to_job(trace, c));
  return c;
}

// What its file shows, in nanoseconds, when the common clock shows `t`.
int64_t reading_at(const CorrelatedJob& rooms, const BundleMember& member, JobNs t) {
  return local_at(rooms.clocks, member.trace, t).ns - member.base_time_ns;
}

const BundleMember& earliest_of(const CorrelatedJob& rooms, const std::vector<BundleMember>& members) {
  const auto first_event = [&](const BundleMember& member) {
    return rooms.clocks.to_job(member.trace, rooms.job[member.trace].first_event);
  };
  return *std::min_element(members.begin(), members.end(), [&](const BundleMember& a, const BundleMember& b) {
    return first_event(a) < first_event(b);
  });
}

Json clock_of(const CorrelatedJob& rooms, const BundleMember& member) {
  const RankTrace& trace = rooms.job[member.trace];
  const TraceClock& clock = rooms.clocks.clocks[member.trace.index()];
  return {{"rank", trace.rank.value},
          {"session", trace.session.value},
          {"host", trace.host},
          {"file", member.path},
          {"offset_ns", clock.offset_ns},
          {"drift_ppb", clock.drift_ppb},
          {"uncertainty_ns", clock.uncertainty_ns >= 0 ? Json(clock.uncertainty_ns) : Json()},
          {"method", to_string(clock.method)},
          {"aligned", clock.aligned},
          {"base_time_ns", member.base_time_ns},
          {"reference_ns", rooms.clocks.reference_ns}};
}

// Begins with the key by which Perfetto knows it; keys of others are passed over.
std::string manifest_of(const CorrelatedJob& rooms, const std::vector<BundleMember>& members) {
  const BundleMember& reference = earliest_of(rooms, members);
  const std::string reference_name = member_name(rooms.job[reference.trace], rooms.job.sessions);
  Json files = Json::array();
  for (const BundleMember& member : members) {
    const RankTrace& trace = rooms.job[member.trace];
    const std::string name = member_name(trace, rooms.job.sessions);
    std::string machine = fmt::format("rank {}", trace.rank.value);
    if (rooms.job.sessions > 1) machine += fmt::format(" session {}", trace.session.value);
    if (!trace.host.empty()) machine += " " + trace.host;
    Json file = {{"path", name}, {"machine", {{"name", machine}}}};
    if (&member != &reference) {
      const JobNs first = rooms.clocks.to_job(member.trace, trace.first_event);
      const JobNs middle = first + (trace.last_event - trace.first_event) / 2;
      const int64_t offset_ns = reading_at(rooms, reference, middle) - reading_at(rooms, member, middle);
      file["clocks"] = {{"sync_to", {{"file", reference_name}}}, {"offset_ns", offset_ns}};
    }
    file["skewscope"] = clock_of(rooms, member);
    files.push_back(std::move(file));
  }
  const Json manifest = {{"perfetto_manifest", {{"version", 1}, {"files", std::move(files)}}}};
  return manifest.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error zip_failure(const std::string& path, const std::string& why) {
  return {ErrorKind::output, fmt::format("cannot write {}: {}", path, why)};
}

// Adds the source, which it takes over, without compressing it.
bool add_member(zip_t* archive, const std::string& name, zip_source_t* source, bool deflated) {
  if (source == nullptr) return false;
  const zip_int64_t row = zip_file_add(archive, name.c_str(), source, ZIP_FL_ENC_UTF_8);
  if (row < 0) {
    zip_source_free(source);
    return false;
  }
  return deflated || zip_set_file_compression(archive, static_cast<zip_uint64_t>(row), ZIP_CM_STORE, 0) == 0;
}

Result<std::vector<BundleMember>> members_of(const CorrelatedJob& rooms, const std::vector<int32_t>& ranks,
                                             const std::map<std::string, int64_t>& base_time_ns) {
  std::vector<BundleMember> members;
  for (size_t i = 0; i < rooms.job.traces.size(); ++i) {
    const RankTrace& trace = rooms.job.traces[i];
    if (!ranks.empty() && !std::binary_search(ranks.begin(), ranks.end(), trace.rank.value)) continue;
    const auto base = base_time_ns.find(trace.file);
    if (base == base_time_ns.end()) {
      return Error{ErrorKind::no_input,
                   trace.file + ": is not there, only its digest: a .zip needs the trace, a .pftrace does not"};
    }
    members.push_back({TraceIndex(static_cast<int64_t>(i)), trace.file, base->second});
  }
  return members;
}

Result<Done> write_bundle(const CorrelatedJob& rooms, const std::vector<BundleMember>& members,
                          const std::string& path) {
  std::vector<GzipBody> bodies;  // one per member
  for (const BundleMember& member : members) {
    auto body = find_gzip_body(member.path);
    if (!body.ok()) return body.error();
    bodies.push_back(std::move(body).value());
  }
  int code = 0;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_EXCL, &code), zip_discard);
  if (!archive) return zip_failure(path, fmt::format("libzip error {}", code));
  const std::string manifest = manifest_of(rooms, members);
  bool fine = add_member(archive.get(), "manifest.json",
                         zip_source_buffer(archive.get(), manifest.data(), manifest.size(), 0), false);
  for (size_t i = 0; fine && i < members.size(); ++i) {
    const std::string name = member_name(rooms.job[members[i].trace], rooms.job.sessions);
    zip_source_t* source = bodies[i].is_gzip ? deflated_source(archive.get(), bodies[i])
                                             : zip_source_file(archive.get(), members[i].path.c_str(), 0, -1);
    fine = add_member(archive.get(), name, source, bodies[i].is_gzip);
  }
  if (!fine || zip_close(archive.get()) != 0) return zip_failure(path, zip_strerror(archive.get()));
  archive.release();  // closed
  return Done{};
}

int64_t largest_drift_ns(const ClockModel& clocks) {
  const double half_window_ns = static_cast<double>(clocks.window_ns) / 2;
  double largest_ns = 0;
  for (const TraceClock& clock : clocks.clocks) {
    largest_ns = std::max(
        largest_ns, std::abs(clock.drift_ppb) * 1e-9 * half_window_ns + static_cast<double>(clock.bend.largest_ns()));
  }
  return static_cast<int64_t>(largest_ns);
}

}  // namespace
}  // namespace merge

Result<MergeResult> bundle_traces(const CorrelatedJob& rooms, const std::vector<int32_t>& ranks,
                                  const std::map<std::string, int64_t>& base_time_ns, const std::string& path) {
  const auto members = merge::members_of(rooms, ranks, base_time_ns);
  if (!members.ok()) return members.error();
  MergeResult result;
  if (members.value().empty()) return result;
  if (const auto done = merge::write_bundle(rooms, members.value(), path); !done.ok()) return done.error();
  result.traces = std::ssize(members.value());
  result.components = most_components(rooms.job, rooms.clocks);
  result.largest_drift_ns = merge::largest_drift_ns(rooms.clocks);
  return result;
}

}  // namespace skewscope
