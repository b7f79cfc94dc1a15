// Problem: hand Perfetto the traces as they are, of any size, and tell it how their clocks lie. Idea: a ZIP beside
// whose members a manifest says, per file, by what it is moved (https://perfetto.dev/docs/reference/perfetto-manifest,
// version 1). A plain file is stored; the deflate stream of a gzip file is copied as a deflated member, because
// Perfetto moves no member that is an archive itself. Nothing is compressed again. libzip copies in small pieces and
// uses ZIP64 where needed.
//
// An offset is constant, so that it is taken in the middle of each trace; the manifest tells the drift to those who
// need better. Perfetto drops what is moved before the time of the file that the others are tied to: it is the
// earliest.
#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "gzip_body.h"
#include "skewscope/base/printable.h"
#include "skewscope/merge.h"

namespace skewscope {
namespace merge {
namespace {

using Json = nlohmann::ordered_json;

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
int64_t reading_at(const MergeRooms& rooms, const BundleMember& member, JobNs t) {
  return local_at(rooms.clocks, member.trace, t).ns - member.base_time_ns;
}

const BundleMember& earliest_of(const MergeRooms& rooms, const std::vector<BundleMember>& members) {
  const auto first_event = [&](const BundleMember& member) {
    return rooms.clocks.to_job(member.trace, rooms.job[member.trace].first_event);
  };
  return *std::min_element(members.begin(), members.end(), [&](const BundleMember& a, const BundleMember& b) {
    return first_event(a) < first_event(b);
  });
}

Json clock_of(const MergeRooms& rooms, const BundleMember& member) {
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
std::string manifest_of(const MergeRooms& rooms, const std::vector<BundleMember>& members) {
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

}  // namespace
}  // namespace merge

Result<Done> bundle_traces(const MergeRooms& rooms, const std::vector<BundleMember>& members, const std::string& path) {
  if (members.empty()) return Done{};
  std::vector<merge::GzipBody> bodies;  // one per member
  for (const BundleMember& member : members) {
    auto body = merge::find_gzip_body(member.path);
    if (!body.ok()) return body.error();
    bodies.push_back(std::move(body).value());
  }
  int code = 0;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive(zip_open(path.c_str(), ZIP_CREATE | ZIP_EXCL, &code), zip_discard);
  if (!archive) return merge::zip_failure(path, fmt::format("libzip error {}", code));
  const std::string manifest = merge::manifest_of(rooms, members);
  bool fine = merge::add_member(archive.get(), "manifest.json",
                                zip_source_buffer(archive.get(), manifest.data(), manifest.size(), 0), false);
  for (size_t i = 0; fine && i < members.size(); ++i) {
    const std::string name = merge::member_name(rooms.job[members[i].trace], rooms.job.sessions);
    zip_source_t* source = bodies[i].is_gzip ? merge::deflated_source(archive.get(), bodies[i])
                                             : zip_source_file(archive.get(), members[i].path.c_str(), 0, -1);
    fine = merge::add_member(archive.get(), name, source, bodies[i].is_gzip);
  }
  if (!fine || zip_close(archive.get()) != 0) return merge::zip_failure(path, zip_strerror(archive.get()));
  archive.release();  // closed
  return Done{};
}

}  // namespace skewscope
