// How far reading has come, for whoever shows it while others read.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace skewscope {

// Thread-safe. Bytes are those on disk, as compressed.
class ReadProgress {
 public:
  struct At {
    int64_t files = 0, all_files = 0, bytes = 0, all_bytes = 0;
  };

  // Reading of these files begins, in the place of what was read before.
  void begin(const std::vector<std::string>& files);
  // `share`: 0 to 1, of the bytes of a file that is being read.
  void read_to(const std::string& file, double share);
  void finish(const std::string& file);

  At at() const;

 private:
  struct Reading {
    int64_t bytes = 0;
    double share = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::string, Reading> open_;  // files that are not read yet
  At finished_;
};

}  // namespace skewscope
