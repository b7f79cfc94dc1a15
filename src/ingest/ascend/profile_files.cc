#include "profile_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <regex>
#include <string_view>
#include <system_error>

#include "rank_folder.h"

namespace skewscope::ingest {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOutput = "ASCEND_PROFILER_OUTPUT";

std::string uncompressed_name(std::string name) {
  for (const std::string_view suffix : {std::string_view(".gz"), std::string_view(".zst")}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  return name;
}

bool is_rank_database(const std::string& name) {
  static const std::regex kDatabase(R"(^ascend_(?:pytorch|mindspore)_profiler(?:_\d+)?\.db$)");
  return std::regex_match(name, kDatabase);
}

bool is_timeline_name(const std::string& name) { return name == "trace_view.json"; }
bool is_calls_name(const std::string& name) { return name == "communication.json"; }

// Of the analysis of several ranks: msprof-analyze's recipes and its `cluster_analysis_output`.
bool is_result_name(const std::string& name) {
  constexpr std::array<std::string_view, 4> kResults = {"cluster_communication.json",
                                                        "cluster_communication_matrix.json", "communication_group.json",
                                                        "cluster_analysis.db"};
  return std::find(kResults.begin(), kResults.end(), name) != kResults.end() ||
         (name.starts_with("msprof_analyze_") && name.ends_with(".db"));
}

bool is_side_name(const std::string& name) {
  static const std::regex kInfo(R"(^profiler_info(?:_\d+)?\.json$)");
  return std::regex_match(name, kInfo) || name == "profiler_metadata.json" || name == "communication_matrix.json" ||
         name == "analysis.db";
}

// The first of the folder, by name, whose name fits; "": none.
template <class Fits>
std::string first_in_folder(const fs::path& folder, const Fits& fits) {
  std::string found;
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  for (const fs::directory_iterator end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (fits(uncompressed_name(name)) && (found.empty() || name < found)) found = name;
  }
  return found.empty() ? found : (folder / found).string();
}

}  // namespace

std::string place_of(const std::string& file) {
  std::error_code failed;
  if (!fs::is_symlink(file, failed)) return file;
  const fs::path place = fs::canonical(file, failed);
  return failed ? file : place.string();
}

std::string main_file_of(const std::string& side_file) {
  fs::path folder = fs::path(side_file).parent_path();
  std::error_code failed;
  if (folder.filename() != kOutput && fs::is_directory(folder / kOutput, failed)) folder /= kOutput;
  for (const auto fits : {is_rank_database, is_timeline_name, is_calls_name}) {
    if (std::string file = first_in_folder(folder, fits); !file.empty()) return file;
  }
  return "";
}

ProfileFile profile_file(const std::string& file) {
  const fs::path path(place_of(file));
  const std::string name = uncompressed_name(path.filename().string());
  if (is_result_name(name)) return ProfileFile::results;
  if (is_rank_database(name)) return ProfileFile::main;
  const bool known = is_timeline_name(name) || is_calls_name(name) || is_side_name(name);
  if (!known) return ProfileFile::none;
  const std::string main = main_file_of(path.string());
  if (main.empty()) return ProfileFile::none;
  std::error_code failed;
  return fs::equivalent(main, path, failed) ? ProfileFile::main : ProfileFile::side;
}

}  // namespace skewscope::ingest
