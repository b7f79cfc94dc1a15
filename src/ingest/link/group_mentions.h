// The process groups that calls of one file mention, each once.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

class GroupMentions {
 public:
  // Adds to `groups`; `content` must live on.
  GroupMentions(const FileContent& content, std::vector<GroupMention>& groups) : content_(content), groups_(groups) {}

  // The row of `groups`; -1 where the arguments name no group: neither a name nor members.
  int32_t row_of(const CommOperation& args);
  // That of the rank's only group of so many, by what the file says of its process groups; -1: none, or several with
  // other members. Groups of the same members (NCCL's and gloo's, the default group) are as one.
  int32_t only_group_of(int32_t ranks);

 private:
  const FileContent& content_;
  std::vector<GroupMention>& groups_;
  std::map<std::tuple<StringId, int64_t, StringId, int64_t, int64_t>, int32_t> mentions_;
  std::map<int32_t, int32_t> groups_by_size_;  // rows of groups_; -1: none
};

// Sums up the calls of each group in its GroupMention::use.
void count_uses(LinkedTrace& linked);

}  // namespace skewscope::ingest
