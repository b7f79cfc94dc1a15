#include "processes.h"

#include <algorithm>

namespace skewscope::ingest {

ProcessRows::ProcessRows(const std::string& file, int64_t number, const ExportStrings& texts,
                         const ReaderSettings& settings, MemoryBudget& budget)
    : key(number),
      rows(file, "pid" + std::to_string(process_number(number)), settings, budget),
      texts_(texts),
      names_(texts.size()) {}

StringId ProcessRows::name(int32_t row) {
  if (row < 0) return rows.intern("");
  StringId& known = names_[static_cast<size_t>(row)];
  if (!known.known()) known = rows.intern(texts_.text(row));
  return known;
}

int32_t ProcessRows::stream_shift() const {
  constexpr int64_t kStreamsOfContext = 8;  // that a context makes for itself
  constexpr int64_t kMostContexts = 64;
  if (several_contexts_ || context_ < 2 || context_ > kMostContexts) return 0;
  return static_cast<int32_t>((context_ - 1) * kStreamsOfContext);
}

void add_host_row(const HostRow& row, ProcessRows& process) {
  DetailRows& details = *process.rows.content().details;
  HostEvents& host = details.host;
  host.start.push_back(row.start);
  host.duration_ns.push_back(row.duration_ns);
  host.name.push_back(row.name);
  host.kind.push_back(row.kind);
  host.thread.push_back(details.threads.number_of({process_number(process.key), row.thread}));
  host.place.push_back(static_cast<int32_t>(process.events));
  host.arguments.push_back(row.arguments);
  host.sequence.push_back(row.sequence);
  host.forward_thread.push_back(0);
}

ProcessRows* ProcessTable::find(int64_t global_id) {
  const int64_t key = process_key(global_id);
  if (last_ != nullptr && last_->key == key) return last_;
  const auto known = processes_.find(key);
  if (known == processes_.end()) return nullptr;
  return last_ = known->second.get();
}

ProcessRows* ProcessTable::find_or_add(int64_t global_id) {
  if (ProcessRows* known = find(global_id)) return known;
  if (processes_.size() == kMostProcesses) return nullptr;
  const int64_t key = process_key(global_id);
  last_ = processes_.emplace(key, std::make_unique<ProcessRows>(file_, key, texts_, settings_, budget_))
              .first->second.get();
  return last_;
}

bool ProcessTable::over_budget() const {
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const auto& process) { return process.second->rows.over_budget(); });
}

}  // namespace skewscope::ingest
