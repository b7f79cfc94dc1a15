// Which ranges of a program are its steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/ingest/content/file_content.h"

namespace skewscope::ingest {

class StepCandidates {
 public:
  // A range that the program put around its work.
  void add(std::string_view name, LocalNs start, int64_t duration_ns, int64_t thread);

  // The name that is best for `content`, whose launches and GPU rows are there; "": none is good.
  std::string best_name(const FileContent& content) const;

  enum class NamedBy : uint8_t { option, own_choice, peers };
  // Sets the steps of `content` to the ranges of that name, and says which they are. False: there are none.
  bool take(const std::string& name, NamedBy by, FileContent& content) const;

 private:
  struct Candidate {
    std::string name;  // without the number, "train step"
    std::string text;  // of the first range
    bool numbered = false, too_many = false;
    std::vector<StepRow> ranges;
  };
  struct Rating {
    int32_t kind = 0;  // 0: called a step; 1: counts up; 2: neither
    int64_t percent = 0;
    bool fits = false;
  };

  struct Choice {
    const Candidate* candidate = nullptr;
    Rating rating;
  };

  // `name`: the only one that counts, however little such ranges hold; "": any that fits.
  Choice best(std::string_view name, const FileContent& content) const;
  Rating rate(const Candidate& candidate, const std::vector<LocalNs>& work) const;

  static constexpr size_t kMostCandidates = 4096, kMostRanges = 100'000;
  std::unordered_map<std::string, Candidate> candidates_;
  std::string key_;
};

// The steps of all ranks of a file: ranges of the name `wanted`, or where it is "", of the name that is best for most
// of them; a rank that has none of these keeps its own.
void choose_steps(const std::vector<StepCandidates>& candidates, const std::string& wanted,
                  std::vector<FileContent>& ranks);

// "iteration 12/100": "iteration", 12; a name without a number: itself, -1.
std::string_view name_of_step(std::string_view text, int64_t& number);

}  // namespace skewscope::ingest
