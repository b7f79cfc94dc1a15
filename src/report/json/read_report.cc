// A report directory as the JobReport it was written from, as far as runs are compared by it. report.json is what
// scripts rely on, so it is read by name and what is null stays "not determined"; long tables come from their CSV
// files.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "skewscope/base/file_text.h"
#include "skewscope/report.h"
#include "src/report/fields/communication_fields.h"
#include "src/report/fields/finding_fields.h"
#include "src/report/fields/gain_fields.h"
#include "src/report/fields/job_fields.h"
#include "src/report/fields/json_row.h"

namespace skewscope {
namespace fs = std::filesystem;
namespace report {
namespace {

Error unusable(const std::string& directory, const std::string& why) {
  return {ErrorKind::no_input, fmt::format("{}: {}", directory, why)};
}

// One CSV file (RFC 4180), row by row: fields by the name of their column.
class CsvRows {
 public:
  explicit CsvRows(const fs::path& file) : text_(file_text(file).value_or("")), columns_(next_fields()) {}

  bool next() {
    if (at_ >= text_.size()) return false;
    fields_ = next_fields();
    return true;
  }
  const std::string& text(const char* column) const {
    const auto at = std::find(columns_.begin(), columns_.end(), column) - columns_.begin();
    return static_cast<size_t>(at) < fields_.size() ? fields_[static_cast<size_t>(at)] : none_;
  }
  template <class Number>
  void get(const char* column, Number& value) const {
    const std::string& digits = text(column);
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
  }

 private:
  std::vector<std::string> next_fields() {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        const bool doubled = quoted && at_ + 1 < text_.size() && text_[at_ + 1] == '"';
        if (doubled) fields.back() += text_[at_++];
        if (!doubled) quoted = !quoted;
      } else if (c == ',' && !quoted) {
        fields.emplace_back();
      } else if (c == '\n' && !quoted) {
        ++at_;
        break;
      } else {
        fields.back() += c;
      }
    }
    for (std::string& field : fields) {  // as csv_file.cc writes what a spreadsheet would take for a formula
      const bool kept_from_formula = field.size() > 1 && field[0] == '\'' && std::strchr("=+-@", field[1]) != nullptr;
      if (kept_from_formula) field.erase(0, 1);
    }
    return fields;
  }

  std::string text_;
  size_t at_ = 0;
  std::vector<std::string> columns_, fields_;
  std::string none_;
};

template <class Row, auto Value, auto Known>
void read_cell(const CsvRows& rows, const Field<Value, Known>& field, Row& row) {
  if constexpr (std::is_member_object_pointer_v<decltype(Value)>) {
    using Type = std::remove_cvref_t<decltype(row.*Value)>;
    if constexpr (std::is_same_v<Type, std::string>) {
      row.*Value = rows.text(field.name);
    } else if constexpr (std::is_enum_v<Type>) {
      row.*Value = from_text<Type>(rows.text(field.name)).value_or(row.*Value);
    } else if constexpr (std::is_arithmetic_v<Type>) {
      rows.get(field.name, row.*Value);
    }
  }
}

// The rows of a table's file, as far as it has the columns.
template <class Fields>
void read_table(const fs::path& folder, std::vector<typename Fields::Row>& rows) {
  for (CsvRows cells(folder / (std::string(Fields::kAbout.table) + ".csv")); cells.next();) {
    auto& row = rows.emplace_back();
    for_each_field<Fields>([&](const auto& field) { read_cell(cells, field, row); });
  }
}

// A large document need not be read to see what it is.
bool begins_as_report(const fs::path& document) {
  std::ifstream in(document, std::ios::binary);
  std::string head(256, '\0');
  in.read(head.data(), std::ssize(head));
  head.resize(static_cast<size_t>(in.gcount()));
  return head.find(fmt::format("\"{}\"", kReportSchema)) != std::string::npos;
}

// What comparing runs needs of a report.json, and what `more` reads of it.
Result<JobReport> read_document(const std::string& text, const std::string& from,
                                const std::function<void(const Json& json, JobReport& report)>& more) {
  JobReport out;
  try {
    const Json json = Json::parse(text);
    if (json.at("schema") != kReportSchema) {
      return unusable(from, fmt::format("its report.json is not of schema {}", kReportSchema));
    }
    if (!json.contains("steps")) {
      return unusable(from, "its report.json has no steps: it was made before they were recorded; make it anew");
    }
    read_row<JobFields>(json.at("job"), out.job);
    read_row<EfficiencyFields>(json.at("efficiency"), out.efficiency);
    read_rows<ComponentFields>(json, out.components);
    read_rows<CommunicatorFields>(json, out.communicators);
    read_rows<RankFields>(json, out.ranks);
    read_rows<CollectiveFields>(json, out.collectives);
    read_rows<StragglerFields>(json, out.stragglers);
    read_rows<StepFields>(json, out.steps);
    read_rows<FindingFields>(json, out.diagnostics);
    more(json, out);
  } catch (const Json::exception& problem) {
    return unusable(from, fmt::format("its report.json cannot be read: {}", problem.what()));
  }
  return out;
}

// Components that the document says the same of are one island.
void read_islands(const Json& components, JobReport& report) {
  std::vector<const Json*> said;
  for (size_t i = 0; i < report.components.size(); ++i) {
    const auto told = components[i].find("told");
    if (told == components[i].end() || told->is_null()) continue;
    const auto same = std::find_if(said.begin(), said.end(), [&](const Json* other) { return *other == *told; });
    if (same == said.end()) {
      JobReport::Island& island = report.islands.emplace_back();
      island.component = static_cast<int32_t>(i);
      read_row<EfficiencyFields>(told->at("efficiency"), island.efficiency);
      read_row<WhatIfFields>(told->at("what_if"), island.what_if);
    }
    auto& ranks = report.islands[static_cast<size_t>(same - said.begin())].ranks;
    ranks.insert(ranks.end(), report.components[i].ranks.begin(), report.components[i].ranks.end());
    std::sort(ranks.begin(), ranks.end());
    if (same == said.end()) said.push_back(&*told);
  }
}

}  // namespace
}  // namespace report

bool is_report(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return fs::is_regular_file(path, error) && report::begins_as_report(path);
  return fs::is_regular_file(fs::path(path) / "COMPLETE", error) ||
         fs::is_regular_file(fs::path(path) / "report.json", error);
}

Result<JobReport> load_report(const std::string& given) {
  using namespace report;
  std::error_code error;
  const bool is_folder = fs::is_directory(given, error);
  // A document that lies alone is whole where it can be parsed, and has no tables.
  const fs::path document = is_folder ? fs::path(given) / "report.json" : fs::path(given);
  const bool alone = document.filename() != "report.json" || !fs::exists(document.parent_path() / "COMPLETE", error);
  if (is_folder && !fs::is_regular_file(fs::path(given) / "COMPLETE", error)) {
    return unusable(given, "the report in it is not whole: it lacks COMPLETE");
  }
  if (!fs::is_regular_file(document, error)) {
    return unusable(given, "holds no report.json, which skewscope report writes with --format json");
  }
  auto read = read_document(file_text(document).value_or(""), given, [](const Json&, JobReport&) {});
  if (!read.ok()) return read.error();
  JobReport out = std::move(read).value();
  if (alone) return out;
  const fs::path tables = document.parent_path() / "tables";
  read_table<RankStepFields>(tables, out.rank_steps);
  read_table<CollectiveStepFields>(tables, out.collective_steps);
  read_table<CauseFields>(tables, out.causes);
  read_table<RankStatisticFields>(tables, out.rank_statistics);
  return out;
}

Result<WrittenReport> parse_report(const std::string& document, const std::string& from) {
  using namespace report;
  auto read = read_document(document, from, [](const Json& json, JobReport& out) {
    read_row<MatchingFields>(json.at("matching"), out.matching);
    read_row<WhatIfFields>(json.at("what_if"), out.what_if);
    read_islands(json.at("components"), out);
  });
  if (!read.ok()) return read.error();
  return WrittenReport{std::move(read).value(), document};
}

}  // namespace skewscope
