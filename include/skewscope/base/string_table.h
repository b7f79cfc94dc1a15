// Each distinct string once; everything else holds a StringId. Ids count up from 0 in order of first use.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "skewscope/base/ids.h"

namespace skewscope {

class StringTable {
 public:
  StringTable() = default;
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;

  StringId intern(std::string_view text);
  // StringId(), which is not known, where the text was never interned.
  StringId find(std::string_view text) const;
  // The text of a known id; "" for an unknown one. Valid while the table lives.
  std::string_view view(StringId id) const;
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  // a deque never moves its elements: the keys of ids_ stay valid
  std::unordered_map<std::string_view, StringId> ids_;
};

}  // namespace skewscope
