// One trace on a terminal: what it is, the verdict, and then the sections that were asked for, in one order.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rank_sections.h"
#include "rank_words.h"
#include "skewscope/base/text_columns.h"

namespace skewscope {
namespace report {
namespace {

struct NamedSection {
  const char* name;
  std::string (*text)(const RankReport& report, const RankTextOptions& options);
  bool unasked = true;
};
constexpr std::array kSections = {NamedSection{"time", &time_section},
                                  NamedSection{"findings", &findings_section},
                                  NamedSection{"categories", &categories_section},
                                  NamedSection{"operators", &operators_section},
                                  NamedSection{"kernels", &kernels_section},
                                  NamedSection{"hlo", &hlo_section},
                                  NamedSection{"work", &work_section},
                                  NamedSection{"modules", &modules_section},
                                  NamedSection{"passes", &passes_section},
                                  NamedSection{"annotations", &annotations_section},
                                  NamedSection{"stacks", &stacks_section, false},
                                  NamedSection{"steps", &steps_section},
                                  NamedSection{"execution", &execution_section},
                                  NamedSection{"path", &path_section},
                                  NamedSection{"launches", &launches_section},
                                  NamedSection{"streams", &streams_section},
                                  NamedSection{"copies", &copies_section},
                                  NamedSection{"waits", &waits_section},
                                  NamedSection{"memory", &memory_section},
                                  NamedSection{"compiled", &compiled_section},
                                  NamedSection{"warnings", &warnings_section}};

std::string head(const RankReport& report, size_t columns) {
  std::string text = fmt::format("rank {}", report.rank);
  if (report.world_size > 0) text += fmt::format(" of {}", report.world_size);
  if (!report.rank_source.empty()) text += " (" + report.rank_source + ")";
  if (!report.host.empty()) text += ", " + report.host;
  if (!report.device_name.empty()) text += ", " + report.device_name;
  return pad("Trace", kRankLabel) + fit_tail(report.file, columns - kRankLabel) + "\n" + labelled("", text, columns);
}

}  // namespace
}  // namespace report

std::vector<std::string> rank_sections() {
  std::vector<std::string> names;
  for (const report::NamedSection& section : report::kSections) names.emplace_back(section.name);
  return names;
}

std::string rank_text(const RankReport& report, const RankTextOptions& options) {
  const auto wanted = [&](const report::NamedSection& section) {
    if (options.sections.empty()) return section.unasked;
    return std::find(options.sections.begin(), options.sections.end(), section.name) != options.sections.end();
  };
  std::string text = report::head(report, options.columns) +
                     report::labelled("Verdict", report::verdict_words(report), options.columns) +
                     report::labelled("Next", report::next_words(report), options.columns);
  for (const report::NamedSection& section : report::kSections) {
    if (wanted(section)) text += section.text(report, options);
  }
  return text;
}

}  // namespace skewscope
