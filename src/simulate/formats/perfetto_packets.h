// Packets of a Perfetto trace, as far as PyTorch writes them. Source: Perfetto's public schema.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace skewscope::simulate {

class PerfettoPackets {
 public:
  using Value = std::variant<int64_t, std::string, std::vector<int64_t>>;
  using Arguments = std::vector<std::pair<const char*, Value>>;

  // A piece of work of a GPU. Kind and queue are names: "Kernel", "stream 7".
  struct Stage {
    int64_t start_ns = 0, duration_ns = 0;
    int32_t gpu = 0;
    const char* kind = "";
    std::string queue;
    std::string_view name;
    std::vector<std::pair<const char*, int64_t>> extra;
    int64_t blocks = 0;  // of a grid of one dimension; 0: no kernel
  };

  void process(uint64_t track, int64_t pid, std::string_view name);
  void thread(uint64_t track, uint64_t parent, int64_t pid, int64_t tid, std::string_view name);
  void stage(const Stage& stage);
  void begin(uint64_t track, int64_t at_ns, std::string_view name, const Arguments& arguments);
  void end(uint64_t track, int64_t at_ns);

  const std::string& bytes() const { return bytes_; }

 private:
  enum Table : uint32_t { kNames = 2, kSpecifications = 24 };
  template <class Write>
  void packet(const Write& write);
  // The number of a text; new texts go ahead of the packet that refers to them.
  uint64_t number(Table table, std::string_view text);

  std::string bytes_;
  std::map<std::string, uint64_t, std::less<>> names_, specifications_;
  bool began_ = false;
};

}  // namespace skewscope::simulate
