#include "session.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "processes.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr int64_t kOldestMajor = 1, kNewestMajor = 3;  // of EXPORT_SCHEMA_VERSION
constexpr int64_t kMostDevices = 64;

struct RankVariables {
  std::string_view rank, world_size;
};
constexpr std::array kRankVariables = {
    RankVariables{"RANK"sv, "WORLD_SIZE"sv},
    RankVariables{"SLURM_PROCID"sv, "SLURM_NTASKS"sv},
    RankVariables{"OMPI_COMM_WORLD_RANK"sv, "OMPI_COMM_WORLD_SIZE"sv},
    RankVariables{"PMI_RANK"sv, "PMI_SIZE"sv},
    RankVariables{"PMIX_RANK"sv, ""sv},
};

bool is_word_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// The number that a variable is set to; -1: none.
int64_t variable_in(std::string_view text, std::string_view variable) {
  if (variable.empty()) return -1;
  for (size_t at = text.find(variable); at != std::string_view::npos; at = text.find(variable, at + 1)) {
    if (at > 0 && is_word_character(text[at - 1])) continue;
    std::string_view rest = text.substr(at + variable.size());
    if (rest.starts_with('"')) rest.remove_prefix(1);
    if (!rest.starts_with('=') && !rest.starts_with(':')) continue;
    rest.remove_prefix(1);
    while (rest.starts_with('"') || rest.starts_with(' ')) rest.remove_prefix(1);
    int64_t number = -1;
    if (std::from_chars(rest.data(), rest.data() + rest.size(), number).ec == std::errc()) return number;
  }
  return -1;
}

void take_better(EnvironmentRank told, EnvironmentRank& known) {
  if (told.rank >= 0 && known.rank < 0) known = std::move(told);
}

// "NAME", "value" of one variable, or a list of them under another name.
EnvironmentRank rank_in_row(std::string_view name, std::string_view value) {
  for (const RankVariables& variables : kRankVariables) {
    if (name == variables.rank) return rank_in_environment(std::string(name) + '=' + std::string(value));
  }
  return rank_in_environment(value);
}

void read_environment(const Database& database, const std::string& table, Session& session, RowDefects& defects) {
  const std::vector<std::string> columns = database.columns(table);
  const auto has = [&](std::string_view column) {
    return std::find(columns.begin(), columns.end(), column) != columns.end();
  };
  const bool of_process = has("globalPid");
  if ((!of_process && !has("globalVid")) || !has("name") || !has("value")) return;
  visit_rows(database, table.c_str(), {of_process ? "globalPid" : "globalVid", "name", "value"}, defects,
             [&](const Statement& row) {
               const std::string name(row.text(1));
               const int64_t key = process_key(row.integer(0));
               if (name == "Hostname") session.host_of_machine.emplace(machine_number(key), row.text(2));
               EnvironmentRank told = rank_in_row(name, row.text(2));
               if (of_process) {
                 take_better(std::move(told), session.of_process[key]);
               } else {
                 take_better(std::move(told), session.of_machine[machine_number(key)]);
               }
               return session.of_process.size() < 65'536 && session.of_machine.size() < 65'536;
             });
}

void read_devices(const Database& database, Session& session, RowDefects& defects) {
  visit_rows(database, "TARGET_INFO_GPU",
             {"cuDevice", "id", "name", "totalMemory", "smCount", "threadsPerWarp", "maxWarpsPerSm", "computeMajor",
              "computeMinor"},
             defects, [&](const Statement& row) {
               const int64_t number = row.integer(row.is_null(0) ? 1 : 0);
               if (number < 0 || number >= kMostDevices) return true;
               if (std::ssize(session.devices) <= number) session.devices.resize(static_cast<size_t>(number) + 1);
               DeviceProperties& device = session.devices[static_cast<size_t>(number)];
               const auto count = [&](int column) {
                 const int64_t value = row.integer(column);
                 return row.is_null(column) || value < 0 || value > INT32_MAX ? -1 : static_cast<int32_t>(value);
               };
               device.name = row.text(2);
               if (!row.is_null(3)) device.memory_bytes = row.integer(3);
               device.sms = count(4);
               device.warp_size = count(5);
               if (count(5) > 0 && count(6) > 0 && count(6) < 1024 && count(5) < 1024)
                 device.threads_per_sm = count(5) * count(6);
               device.compute_major = count(7);
               device.compute_minor = count(8);
               return true;
             });
}

}  // namespace

EnvironmentRank rank_in_environment(std::string_view text) {
  EnvironmentRank told;
  for (const RankVariables& variables : kRankVariables) {
    told.rank = variable_in(text, variables.rank);
    if (told.rank < 0) continue;
    told.world_size = variable_in(text, variables.world_size);
    told.variable = variables.rank;
    return told;
  }
  return told;
}

Session read_session(const Database& database, RowDefects& defects) {
  Session session;
  visit_rows(database, "TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, defects, [&](const Statement& row) {
    const int64_t base_ns = row.integer(0);
    session.has_base = row.is_integer(0) && base_ns > 0 && base_ns < kFurthestNs;
    session.base_ns = session.has_base ? base_ns : 0;
    return false;
  });
  visit_rows(database, "META_DATA_EXPORT", {"name", "value"}, defects, [&](const Statement& row) {
    if (row.text(0) == "EXPORT_SCHEMA_VERSION_MAJOR") {
      const int64_t major = row.integer(1);
      if (major < kOldestMajor || major > kNewestMajor) session.unknown_version = row.text(1);
    }
    return true;
  });
  for (const std::string& table : database.tables()) {
    if (table.find("_ENV") != std::string::npos) read_environment(database, table, session, defects);
  }
  read_devices(database, session, defects);
  return session;
}

}  // namespace skewscope::ingest
