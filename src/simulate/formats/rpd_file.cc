#include "rpd_file.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "rocm_rows.h"
#include "sqlite_file.h"

namespace skewscope::simulate {
namespace {

constexpr const char* kRpdTables = R"(
CREATE TABLE rocpd_metadata (id INTEGER PRIMARY KEY AUTOINCREMENT, tag TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE rocpd_string (id INTEGER PRIMARY KEY AUTOINCREMENT, string TEXT NOT NULL);
CREATE TABLE rocpd_op (id INTEGER PRIMARY KEY AUTOINCREMENT, gpuId INTEGER NOT NULL, queueId INTEGER NOT NULL,
  sequenceId INTEGER NOT NULL, completionSignal TEXT NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
  description_id INTEGER NOT NULL, opType_id INTEGER NOT NULL);
CREATE TABLE rocpd_api (id INTEGER PRIMARY KEY AUTOINCREMENT, pid INTEGER NOT NULL, tid INTEGER NOT NULL,
  start INTEGER NOT NULL, "end" INTEGER NOT NULL, apiName_id INTEGER NOT NULL, args_id INTEGER NOT NULL);
CREATE TABLE rocpd_api_ops (id INTEGER PRIMARY KEY AUTOINCREMENT, api_id INTEGER NOT NULL, op_id INTEGER NOT NULL);
)";

class RpdFile : public RocmRows {
 public:
  RpdFile(const std::string& path, const SimulatedRank& rank) : file_(path, kRpdTables), rank_(rank) {}

  bool write() {
    file_.add("rocpd_metadata", {int64_t{1}, std::string_view("schema_version"), std::string_view("2")});
    next_call_ = static_cast<int64_t>(rank_.file.linked.trace.launches.size() + rank_.lost_launches.size() +
                                      rank_.file.linked.trace.synchronizing.size()) +
                 1;
    walk_rocm_rows(rank_, *this);
    return file_.close();
  }

  void add(const RocmOperation& operation) override {
    const char* const type = !operation.is_copy  ? "KernelExecution"
                             : operation.to_host ? "CopyDeviceToHost"
                                                 : "CopyHostToDevice";
    const int64_t id = ++operations_;
    file_.add("rocpd_op", {id, int64_t{rank_.file.linked.trace.device}, operation.stream, int64_t{0},
                           std::string_view(""), operation.start_ns, operation.end_ns,
                           text(operation.is_copy ? std::string_view("") : operation.name), text(type)});
    if (operation.launch > 0) file_.add("rocpd_api_ops", {++links_, operation.launch, id});
  }

  // A marker's text is its argument.
  void add(const RocmCall& call) override {
    const bool marker = call.kind == RocmCallKind::marker;
    const int64_t id = call.number > 0 ? call.number : next_call_++;
    file_.add("rocpd_api", {id, rank_.process, call.thread, call.start_ns, call.end_ns,
                            text(marker ? std::string_view("UserMarker") : call.name),
                            text(marker ? call.name : std::string_view(""))});
  }

 private:
  int64_t text(std::string_view value) {
    const auto [known, added] = texts_.try_emplace(std::string(value), std::ssize(texts_) + 1);
    if (added) file_.add("rocpd_string", {known->second, value});
    return known->second;
  }

  SqliteFile file_;
  const SimulatedRank& rank_;
  std::map<std::string, int64_t, std::less<>> texts_;
  int64_t operations_ = 0, links_ = 0;
  int64_t next_call_ = 0;  // behind the calls of HIP
};

}  // namespace

bool write_rpd_file(const std::vector<SimulatedRank>& ranks, const std::string& path) {
  return RpdFile(path, ranks.front()).write();
}

std::string rpd_file_name(const TraceFile& rank, int64_t) {
  return fmt::format("{0}-rank{1}@{0}.rpd", rank.evidence.host, rank.evidence.distributed.rank);
}

}  // namespace skewscope::simulate
