// The records of one log, in the order of its text, put together: one FileContent for each rank that wrote into it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "collectives/transport.h"
#include "log_record.h"
#include "skewscope/base/result.h"
#include "skewscope/base/string_table.h"
#include "src/ingest/content/defects.h"
#include "src/ingest/content/file_content.h"
#include "src/ingest/content/memory_budget.h"
#include "src/ingest/content/row_collector.h"
#include "src/ingest/content/trace_reader.h"

namespace skewscope::ingest {

// A communicator as one of its ranks, in one process.
struct LogMember {
  std::string host, communicator, communicator_name;
  int64_t process_id = -1, rank = -1, ranks = -1;
};

// What is kept of a call.
struct LoggedCall {
  int64_t latest_end_ns = 0;  // it ended no later: when its end was seen, else when it was written
  int64_t duration_ns = 0;
  int64_t number = -1, bytes = -1;
  int32_t member = -1, peer = -1;
  StringId operation;
  Algorithm algorithm = Algorithm::unknown;
  Protocol protocol = Protocol::unknown;
  bool timed = false;  // its end was seen
};

class LogBuilder {
 public:
  LogBuilder(std::string file, const ReaderSettings& settings, MemoryBudget& budget);
  ~LogBuilder();
  LogBuilder(const LogBuilder&) = delete;
  LogBuilder& operator=(const LogBuilder&) = delete;
  LogBuilder(LogBuilder&&) = delete;
  LogBuilder& operator=(LogBuilder&&) = delete;

  // `offset`: of the line, in the uncompressed text. `cut`: the file ends with it, without a line break.
  void add(const LogRecord& record, int64_t offset, bool cut);
  // Who wrote is kept, and not what.
  void keep_members_only() { members_only_ = true; }
  bool over_budget() const { return over_budget_; }
  DefectCounts& defects() { return defects_; }
  // At least one. Errors: resource_limit.
  Result<std::vector<FileContent>> take(int64_t bytes, const std::string& compression);

 private:
  void read_header(const LogRecord& record);
  void add_call(const LogRecord& record);
  // Whether it is among those that a thinned log keeps.
  bool keeps(const LoggedCall& call);
  // Leaves out every second one of what is kept.
  void thin();
  void report_losses(FileContent& content) const;
  Result<FileContent> content_of(const std::string& part, const std::vector<int32_t>& members);

  const std::string file_;
  const ReaderSettings& settings_;
  MemoryBudget& budget_;
  DefectCounts defects_;
  std::map<std::tuple<std::string, int64_t, std::string, int64_t>, int32_t, std::less<>> known_;  // row in members_
  std::vector<LogMember> members_;
  StringTable strings_;
  std::vector<LoggedCall> calls_;
  std::map<std::string, int64_t> other_versions_;          // lines
  std::map<std::pair<int32_t, StringId>, uint64_t> keys_;  // by member and operation, of a thinned log
  int32_t one_of_ = 1;                                     // as of RankTrace
  int64_t most_ranks_ = 1, thinned_ = 0;
  std::pair<std::string, Algorithm> algorithm_{"", Algorithm::unknown};  // of the call before
  std::pair<std::string, Protocol> protocol_{"", Protocol::unknown};
  int32_t member_ = -1;     // of the header read last
  int64_t dumped_ns_ = -1;  // by the metadata read last
  int64_t expected_ = 0;    // lines without a header that the last marker announced
  int64_t events_ = 0, lost_lines_ = 0, overwritten_ = 0, headless_ = 0, timeless_ = 0, by_host_ = 0;
  int64_t charged_ = 0;
  bool over_budget_ = false, members_only_ = false;
};

}  // namespace skewscope::ingest
