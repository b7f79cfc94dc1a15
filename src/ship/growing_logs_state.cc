// What growing_logs knows of its streams, in the agent's state folder.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "growing_logs.h"
#include "ledger.h"
#include "skewscope/base/whole_file.h"
#include "skewscope/protocol/names.h"

namespace skewscope::ship {
namespace {

namespace fs = std::filesystem;
using LogState = nlohmann::ordered_json;

constexpr const char* kLogSchema = "skewscope.ship-log/1";
constexpr size_t kLargestState = 1 << 20;

}  // namespace

// The first run's name has no number.
std::string GrowingLogs::state_path(const StreamKey& of) const {
  if (state_directory_.empty()) return "";
  return run_of(fmt::format("{}/logs/{}-{}", state_directory_, target_, of.first), of.second) + ".json";
}

void GrowingLogs::save(const StreamKey& of, const Stream& stream) const {
  const std::string path = state_path(of);
  if (path.empty()) return;
  LogState json = {{"schema", kLogSchema},
                   {"job", stream.job},
                   {"upload", stream.upload},
                   {"offset", stream.offset},
                   {"sources", LogState::array()}};
  for (const Source& source : stream.sources) {
    json["sources"].push_back(
        {{"device", source.device}, {"inode", source.inode}, {"sent", source.sent}, {"tail", source.tail}});
  }
  if (const auto& piece = stream.under_way) {
    json["under_way"] = {{"source", piece->source}, {"bytes", piece->bytes}, {"tail", piece->tail}};
  }
  static_cast<void>(write_whole_file(json.dump(1) + "\n", path, true, 0600).ok());  // then the gatherer's digest tells
}

void GrowingLogs::load(int rank) {
  std::error_code failed;
  const std::string first = fs::path(state_path({rank, 1})).stem();
  for (fs::directory_iterator entry(state_directory_ + "/logs", failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().stem();
    if (name_of_run(name) != first || entry->path().extension() != ".json") continue;
    if (auto stream = read_state(entry->path())) streams_[{rank, number_of_run(name)}] = *std::move(stream);
  }
}

std::optional<GrowingLogs::Stream> GrowingLogs::read_state(const std::string& path) {
  const LogState json = LogState::parse(read_small(path, kLargestState).value_or(""), nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    if (json.at("schema") != kLogSchema) return std::nullopt;
    Stream read;
    read.job = json.value("job", "");
    read.upload = json.at("upload").get<std::string>();
    read.offset = json.at("offset").get<uint64_t>();
    for (const LogState& source : json.at("sources")) {
      read.sources.push_back({source.at("device").get<uint64_t>(), source.at("inode").get<uint64_t>(),
                              source.at("sent").get<uint64_t>(), source.at("tail").get<std::string>()});
    }
    if (json.contains("under_way")) {
      const LogState& piece = json.at("under_way");
      read.under_way = {piece.at("source").get<size_t>(), piece.at("bytes").get<uint64_t>(),
                        piece.at("tail").get<std::string>()};
      if (read.under_way->source >= read.sources.size()) return std::nullopt;
    }
    return read;
  } catch (const LogState::exception&) {  // another version's, or damaged
    return std::nullopt;
  }
}

}  // namespace skewscope::ship
