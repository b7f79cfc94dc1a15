// The fields of NCCL's ranges: binary, by the schemas that the file holds, or as JSON. Layouts change from version to
// version of NCCL; what fields are called does not.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "table_rows.h"

namespace skewscope::ingest {

// -1: not told.
struct NcclPayload {
  uint64_t communicator = 0;  // 0: none
  int64_t ranks = -1, rank = -1, bytes = -1;
  int64_t root = -1, peer = -1;  // inside the communicator

  bool any() const { return communicator != 0 || bytes >= 0; }
};

class PayloadSchemas {
 public:
  void read(const Database& database, RowDefects& defects);
  bool empty() const { return schemas_.empty(); }

  // What a payload says; nothing where its schema is not in the file, or it is shorter than its schema says.
  NcclPayload of_binary(std::string_view data) const;
  // {"NCCL communicator ID": 123, ...}, flat or with objects around it.
  static NcclPayload of_json(std::string_view json);

 private:
  struct Field {
    int64_t NcclPayload::*member = nullptr;  // null: the communicator
    uint64_t offset = 0;
    int64_t type = 0;
  };
  using SchemaKey = std::pair<int64_t, int64_t>;  // domain, schema

  std::map<SchemaKey, std::vector<Field>> schemas_;
};

}  // namespace skewscope::ingest
