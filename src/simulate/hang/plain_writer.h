// A document of plain values, written as it is said: as a pickle of protocol 2, which is what PyTorch leaves, or as
// JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skewscope::simulate::hang {

class PlainWriter {
 public:
  explicit PlainWriter(bool json);

  PlainWriter& begin_dict();
  PlainWriter& end_dict();
  PlainWriter& begin_list();
  PlainWriter& end_list();
  PlainWriter& key(std::string_view name);
  PlainWriter& text(std::string_view text);
  PlainWriter& number(int64_t number);  // -1: none
  PlainWriter& whether(bool holds);
  std::string take();

 private:
  void separate();

  bool json_, first_ = true;
  std::string out_;
};

}  // namespace skewscope::simulate::hang
