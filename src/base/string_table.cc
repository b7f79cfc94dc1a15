#include "skewscope/base/string_table.h"

namespace skewscope {

StringId StringTable::intern(std::string_view text) {
  if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
  const StringId id(static_cast<int64_t>(texts_.size()));
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

StringId StringTable::find(std::string_view text) const {
  const auto known = ids_.find(text);
  return known == ids_.end() ? StringId() : known->second;
}

std::string_view StringTable::view(StringId id) const {
  return id.known() && id.index() < texts_.size() ? std::string_view(texts_[id.index()]) : std::string_view();
}

}  // namespace skewscope
