// Problem: two dozen writers, each with a name pattern of its own (KINETO.md, section 9), some with the global
// rank, some with a local rank that looks just like it.
// Idea: most global patterns are one pattern, the word "rank" and a number; writers that say it otherwise get a row in
// a table. A name that gives two different numbers gives none.
#include "file_name_rank.h"

#include <array>
#include <cctype>
#include <filesystem>
#include <regex>
#include <string_view>

namespace skewscope::ingest {
namespace {

// 9 digits and more are stamps, not ranks.
int32_t small_number(const std::string& digits) { return digits.size() < 9 ? std::stoi(digits) : -1; }

std::string without_suffix(std::string name) {
  for (const std::string_view suffix : {".gz", ".zst", ".json", ".trace", ".pt"}) {
    if (name.size() > suffix.size() && std::string_view(name).substr(name.size() - suffix.size()) == suffix) {
      name.resize(name.size() - suffix.size());
    }
  }
  return name;
}

struct Writer {
  std::regex pattern;  // group 1 is the number
  const char* rule;
  bool global;
};

// Writers that do not spell "rank<R>", most specific first.
const std::vector<Writer>& writers() {
  static const std::vector<Writer> kWriters = {
      {std::regex(R"(-rank\[(\d+)\])"), "rank[<R>]", true},                  // Primus; the experiment may hold "rank"
      {std::regex(R"(^worker(\d+)_step_\d+)"), "worker<R>_step_<N>", true},  // DLRM
      {std::regex(R"(^r(\d+)-\d{4}-\d+-\d+-\d+-\d+\.)"), "r<R>-<date>", true},  // torchtune
      {std::regex(R"(^profile_(\d+)$)"), "profile_<R>", true},                  // Accelerate
      {std::regex(R"(-TP-(\d+)(?:-|$))"), "TP-<t>", false},                     // SGLang
      {std::regex(R"(local_?rank[-_=]?(\d+))"), "local_rank<L>", false},
      {std::regex(R"(^(?:fit|validate|test|predict|sanity_check)-.*?-(\d+)-.*\.\d+$)"), "<stage>-<name>-<L>-<action>",
       false},  // Lightning
  };
  return kWriters;
}

// The one number that "rank" carries anywhere in the name; words such as "tp_rank3" name a coordinate, not the rank.
void find_rank_word(const std::string& name, FileNameFacts& facts) {
  static const std::regex kRank(
      R"((?:^|[^a-z])(local|tp|mp|pp|dp|ep|cp|node|group)?[-_]?rank[-_=]?(\d+)(?:-?of-?(\d+))?)", std::regex::icase);
  for (std::sregex_iterator hit(name.begin(), name.end(), kRank), end; hit != end; ++hit) {
    const int32_t rank = (*hit)[1].matched ? -1 : small_number((*hit)[2].str());
    if (rank < 0) continue;
    if (facts.rank >= 0 && facts.rank != rank) {  // two answers are none
      facts.rank = facts.world_size = -1;
      facts.rule.clear();
      return;
    }
    facts.rank = rank;
    facts.rule = "rank<R>";
    if ((*hit)[3].matched) {
      facts.world_size = small_number((*hit)[3].str());
      facts.rule = "rank<R>of<W>";
    }
  }
}

void find_rank(const std::string& name, FileNameFacts& facts) {
  for (const Writer& writer : writers()) {
    std::smatch hit;
    if (!std::regex_search(name, hit, writer.pattern)) continue;
    (writer.global ? facts.rank : facts.local_rank) = small_number(hit[1].str());
    facts.rule = writer.rule;
    break;
  }
  if (facts.rank < 0) {
    FileNameFacts by_word;
    find_rank_word(name, by_word);
    if (by_word.rank < 0) return;
    facts.rank = by_word.rank;
    facts.world_size = by_word.world_size;
    facts.rule = by_word.rule;
  }
}

// SGLang, vLLM and verl spell a coordinate alike: dimension, perhaps a hyphen, number. Two answers are none.
void find_coordinates(const std::string& name, Coordinates& coordinates) {
  static const std::regex kCoordinate(R"((?:^|[-_.])(tp|cp|dp|pp)(?:[-_]?rank)?[-_]?(\d+)(?=[-_.]|$))",
                                      std::regex::icase);
  std::array<bool, 4> doubted{};
  for (std::sregex_iterator hit(name.begin(), name.end(), kCoordinate), end; hit != end; ++hit) {
    const size_t dimension = std::string_view("tcdp").find(static_cast<char>(std::tolower((*hit)[1].str()[0])));
    const std::array<int32_t*, 4> numbers = {&coordinates.tp, &coordinates.cp, &coordinates.dp, &coordinates.pp};
    const int32_t number = small_number((*hit)[2].str());
    int32_t& known = *numbers[dimension];
    if (known >= 0 && known != number) doubted[dimension] = true;
    known = doubted[dimension] ? -1 : number;
  }
}

// Folder first: it is the same for all ranks by construction.
void find_capture(const std::filesystem::path& path, const std::string& name, FileNameFacts& facts) {
  static const std::regex kFolder(R"(^(iteration|step)[-_]?(\d+)$)");
  std::smatch hit;
  for (const std::filesystem::path& part : path.parent_path()) {
    const std::string folder = part.string();
    if (!std::regex_match(folder, hit, kFolder)) continue;
    facts.capture = hit[1].str() + " " + hit[2].str();
    facts.capture_number = small_number(hit[2].str());
  }
  if (!facts.capture.empty()) return;

  static const std::array<std::pair<std::regex, const char*>, 4> kNumbered = {{
      {std::regex(R"((?:^|[-_.])step[-_]?(\d+)(?:[-_.]|$))"), "step"},  // verl, DLRM
      {std::regex(R"((?:^|[-_.])iter(?:ation)?[-_]?(\d+)(?:[-_.]|$))"), "iteration"},
      {std::regex(R"((?:^|-)ba(\d+)(?:-|$))"), "batch"},  // Composer
      {std::regex(R"(^rank\d+\.(\d{1,8})$)"), "batch"},   // Composer
  }};
  for (const auto& [pattern, word] : kNumbered) {
    if (!std::regex_search(name, hit, pattern)) continue;
    facts.capture_number = small_number(hit[1].str());
    facts.capture = std::string(word) + " " + hit[1].str();
    break;
  }
  // Stages and roles are captures of their own next to the number.
  static const std::regex kStage(R"((?:-|^)(EXTEND|DECODE|extend|decode|prefill|fit|validate|test|predict)(?:-|$))");
  static const std::regex kRole(R"((?:^|_)(actor|rollout|ref|critic|reward|rm)(?:_|$))");
  for (const std::regex* pattern : {&kStage, &kRole}) {
    if (!std::regex_search(name, hit, *pattern)) continue;
    facts.capture += (facts.capture.empty() ? "" : " ") + hit[1].str();
  }
}

}  // namespace

FileNameFacts read_file_name(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string file = whole.filename().string();
  const std::string name = without_suffix(file);
  FileNameFacts facts;
  find_rank(name, facts);
  find_coordinates(name, facts.coordinates);
  find_capture(whole, name, facts);
  static const std::regex kWorker(R"(^(.+)\.\d{9,}\.pt\.trace\.json)");
  if (std::smatch hit; std::regex_search(file, hit, kWorker)) facts.worker = hit[1].str();
  return facts;
}

}  // namespace skewscope::ingest
