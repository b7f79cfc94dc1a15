// The objects of a large JSON document one by one: those at given paths, each whole, without what lies around them in
// memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "byte_source.h"

namespace skewscope::ingest {

class JsonElements {
 public:
  // Paths are keys, with "/" between them; lists add nothing: "tool/kernels" is the path of each object of the list
  // {"tool": [{"kernels": [{}, {}]}]}.
  JsonElements(ByteSource& source, std::vector<std::string> paths);

  // The next object in the order of the text, with the place of its path in `paths`. `element` holds until the next
  // call, with room for simdjson's padding behind it. False: the text has ended.
  bool next(size_t& path, std::string_view& element);

  // After the end: every bracket was closed. An element larger than kLargestElement is left out.
  bool closed() const { return began_ && open_.empty(); }
  int64_t bytes() const { return bytes_; }
  int64_t left_out() const { return left_out_; }

  static constexpr size_t kLargestElement = 64 << 20;
  static constexpr size_t kDeepest = 256;  // deeper text is no trace, and is not read on

 private:
  bool fill();
  bool read_string(std::string* text);
  bool begin_container(char bracket);
  bool end_container();
  size_t wanted() const;

  ByteSource& source_;
  std::vector<std::string> paths_;
  std::string buffer_;
  size_t at_ = 0, capture_ = std::string::npos, capture_depth_ = 0, capture_path_ = 0;
  int64_t bytes_ = 0, left_out_ = 0;
  bool ended_ = false, began_ = false;
  struct Open {
    bool object = false;
    size_t path_size = 0;  // of path_ where it is open
  };
  std::vector<Open> open_;
  std::string path_, key_;
};

}  // namespace skewscope::ingest
