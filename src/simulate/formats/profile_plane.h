// A plane of a profile, written row by row; names are numbered as they are used, and written behind the rows. Field
// numbers are those of xplane.proto.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/time.h"

namespace skewscope::simulate {

class ProfilePlane {
 public:
  explicit ProfilePlane(std::string name) : name_(std::move(name)) {}

  // Stats of the event that is added next.
  void number(std::string_view stat, int64_t value);
  void text(std::string_view stat, std::string_view value);
  // `start_ns` since the profile began.
  void event(int64_t line, const std::string& name, int64_t start_ns, int64_t duration_ns);
  void name_line(int64_t line, const std::string& name) { lines_[line].name = name; }
  // Stats of the plane.
  void plane_number(std::string_view stat, int64_t value);
  void plane_text(std::string_view stat, std::string_view value);
  // A program; the bytes of its HloProto.
  void program(int64_t id, const std::string& name, const std::string& hlo_proto);
  std::string bytes() const;

 private:
  struct Line {
    std::string name, events;
  };
  int64_t stat_id(std::string_view name);
  int64_t kind_id(const std::string& name);
  std::string number_stat(std::string_view stat, int64_t value);
  std::string text_stat(std::string_view stat, std::string_view value);

  std::string name_, plane_stats_;
  std::vector<std::string> pending_;
  std::map<int64_t, Line> lines_;
  std::map<std::string, int64_t, std::less<>> stats_, kinds_;
  std::map<int64_t, std::string> programs_;  // stats of a kind
};

}  // namespace skewscope::simulate
