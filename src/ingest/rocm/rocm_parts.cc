#include "rocm_parts.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {

RowCollector& RocmParts::part(int64_t process, int32_t gpu) {
  std::unique_ptr<RowCollector>& rows = parts_[{process, gpu}];
  if (rows == nullptr) rows = std::make_unique<RowCollector>(file_, "", settings_, budget_);
  return *rows;
}

bool RocmParts::over_budget() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const auto& part) { return part.second->over_budget(); });
}

// "" where the file has one; else what tells the parts apart.
std::string RocmParts::name_of(const Key& key) const {
  if (parts_.size() == 1) return "";
  std::set<int64_t> processes;
  bool several_gpus = false;
  for (const auto& [other, rows] : parts_) {
    processes.insert(other.process);
    several_gpus = several_gpus || (other.process == key.process && other.gpu != key.gpu);
  }
  const auto told = processes_.find(key.process);
  const int64_t number = told == processes_.end() || told->second.process < 0 ? key.process : told->second.process;
  std::string name = processes.size() > 1 ? "pid" + std::to_string(number) : "";
  if (several_gpus) name += (name.empty() ? "gpu" : ".gpu") + std::to_string(key.gpu);
  return name;
}

// An environment is a process's: it is no rank of several GPUs.
void RocmParts::set_rank(const RocmProcess& told, const Key& key, DistributedInfo& distributed) const {
  const auto is_peer = [&](const auto& part) { return part.first.process == key.process; };
  if (told.rank < 0 || std::count_if(parts_.begin(), parts_.end(), is_peer) > 1) return;
  distributed.present = true;
  distributed.rank = told.rank;
  distributed.world_size = told.world_size;
  distributed.rank_from = told.rank_variable + " of the environment";
}

std::vector<FileContent> RocmParts::take(const char* format, int64_t events, Findings findings) {
  std::vector<FileContent> contents;
  for (const auto& [key, rows] : parts_) {
    FileContent content = rows->take(ContentKind::rank_trace);
    content.format = format;
    content.part = name_of(key);
    content.hip_properties = content.hip_launches = true;
    if (const auto told = processes_.find(key.process); told != processes_.end()) {
      content.host_name = told->second.host;
      content.process_id = told->second.process;
      set_rank(told->second, key, content.distributed);
    }
    content.devices.resize(static_cast<size_t>(key.gpu) + 1);
    if (const auto named = names_.find(key); named != names_.end()) content.devices.back().name = named->second;
    content.events = std::ssize(content.gpu.events.start) + std::ssize(content.launches.events.start);
    contents.push_back(std::move(content));
  }
  if (contents.empty()) {
    FileContent& nothing = contents.emplace_back();
    nothing.file = file_;
    nothing.format = format;
    nothing.kind = ContentKind::empty;
    nothing.events = events;
  }
  for (Finding& finding : findings) add_finding(contents.front().findings, std::move(finding));
  return contents;
}

uint16_t DispatchGrids::number_of(const Size& threads, const Size& threads_of_group) {
  constexpr size_t kMostKinds = 65'536;
  Size groups{};
  for (size_t i = 0; i < groups.size(); ++i) {
    if (threads[i] <= 0 || threads_of_group[i] <= 0) return 0;
    groups[i] = (threads[i] - 1) / threads_of_group[i] + 1;
  }
  const auto known = numbers_.find(groups);
  if (known != numbers_.end()) return known->second;
  const uint16_t number = grid_number(fmt::format("[{}, {}, {}]", groups[0], groups[1], groups[2]));
  if (numbers_.size() < kMostKinds) numbers_.emplace(groups, number);
  return number;
}

RocmProcess process_of_environment(std::string_view json) {
  constexpr std::array<const char*, 5> kRanks = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                                 "SLURM_PROCID"};
  constexpr std::array<const char*, 4> kWorlds = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};
  RocmProcess process;
  simdjson::dom::parser parser;
  simdjson::dom::object environment;
  if (parser.parse(json.data(), json.size()).get(environment) != simdjson::SUCCESS) return process;
  std::string variable;
  const auto first = [&](const auto& names) {
    for (const char* const name : names) {
      simdjson::dom::element value;
      if (environment[name].get(value) != simdjson::SUCCESS) continue;
      std::string_view text;
      int64_t number = -1;
      variable = name;
      if (value.get(number) == simdjson::SUCCESS && number >= 0) return number;
      if (value.get(text) == simdjson::SUCCESS && read_integer(text, number) && number >= 0) return number;
    }
    return int64_t{-1};
  };
  process.rank = first(kRanks);
  process.rank_variable = std::move(variable);
  process.world_size = first(kWorlds);
  return process;
}

}  // namespace skewscope::ingest
