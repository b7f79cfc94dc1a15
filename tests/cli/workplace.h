// Where tests run the program.
#pragma once

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "program.h"

namespace skewscope::test {

namespace fs = std::filesystem;

// A directory with `traces`: 4 ranks, rank 2 computes half as long again. Simulated once for all tests.
class Workplace {
 public:
  Workplace() {
    std::string name = (fs::temp_directory_path() / "skewscope_cli_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
    made_ = run("simulate -o traces --nodes 1 --gpus 4 --tp 2 --steps 3 --layers 2 --slow-rank 2:1.5 --cpu-rows 0");
  }
  ~Workplace() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;
  Outcome run(const std::string& arguments, const std::string& launcher = "") const {
    return run_program(path_, arguments, launcher);
  }
  bool has(const std::string& name) const { return fs::exists(path_ + "/" + name); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path_ + "/" + name).rdbuf();
    return text.str();
  }
  const Outcome& made() const { return made_; }

 private:
  std::string path_;
  Outcome made_;
};

inline const Workplace& place() {
  static const Workplace instance;
  REQUIRE(instance.made().code == 0);
  return instance;
}

inline bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

}  // namespace skewscope::test
