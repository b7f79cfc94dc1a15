// Whole numbers as short text, for the many that a page holds.
#pragma once

#include <cstdint>
#include <string>

namespace skewscope::report {

// Five bits a letter, the lowest first, of A-Z a-z 0-9 - _, which JSON and HTML take as they are; a letter's sixth bit
// says that more follow. Signs alternate: 0, -1, 1, -2 ... are 0, 1, 2, 3. "." is no number; "*" and a number n: the
// one before, n times more. Read by src/report/page/packed.js.
class PackedNumbers {
 public:
  void put(int64_t value) { put_word({true, value}); }
  void put_none() { put_word({false, 0}); }
  std::string take();

 private:
  struct Word {
    bool known = false;
    int64_t value = 0;
    friend bool operator==(const Word&, const Word&) = default;
  };
  void put_word(const Word& word);
  void end_run();
  void append(int64_t value);

  std::string text_;
  Word last_;
  int64_t repeated_ = -1;  // how often `last_` came again; -1: nothing came yet
};

}  // namespace skewscope::report
