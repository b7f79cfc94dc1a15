// What the user says about ranks: --rank-map and --rank-regex. Asked before anything a file says of itself.
#pragma once

#include <cstdint>
#include <map>
#include <regex>
#include <string>

#include "skewscope/base/result.h"
#include "skewscope/model/trace_file.h"

namespace skewscope::ingest {

class RankOverrides {
 public:
  // Errors: usage, for a map that cannot be read, a row that is no "path,rank" or "path,rank,host", a pattern that is
  // no regular expression or has no group named `rank`. Empty texts: not given.
  static Result<RankOverrides> make(const std::string& rank_map_file, const std::string& rank_regex,
                                    int32_t least_world_size = 0);

  // The rank of the map's row for this path, else for this file name; -1: none, or the row leaves it open. A row for a
  // file of several ranks says the first; the others follow it, in the order of the file.
  int32_t from_map(const RankEvidence& file) const;
  // The host of that row; "": none.
  std::string host_from_map(const RankEvidence& file) const;
  // The number the group matched in the path; -1: no match, or no number. Of a file of several ranks as above.
  int32_t from_regex(const RankEvidence& file) const;
  int32_t least_world_size() const { return least_world_size_; }  // 0: not given
  bool has_map() const { return !rows_.empty(); }
  bool has_regex() const { return rank_group_ > 0; }

 private:
  struct MapRow {
    int32_t rank = -1;
    std::string host;
    bool operator==(const MapRow& other) const { return rank == other.rank && host == other.host; }
  };
  using Map = std::map<std::string, MapRow>;  // by path or file name, as written, lexically normal

  static Result<Map> read_map(const std::string& file);
  const MapRow* row_of(const std::string& path) const;

  Map rows_;
  std::regex regex_;
  size_t rank_group_ = 0;
  int32_t least_world_size_ = 0;
};

}  // namespace skewscope::ingest
