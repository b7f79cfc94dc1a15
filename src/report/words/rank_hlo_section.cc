// What the operations of compiled programs (HLO of XLA) say.
#include <algorithm>
#include <optional>

#include "rank_sections.h"
#include "skewscope/base/human_units.h"
#include "skewscope/base/text_columns.h"
#include "src/report/fields/hlo_fields.h"

namespace skewscope::report {
namespace {

constexpr size_t kMostHloCategories = 6, kMostHloOperations = 6;
constexpr size_t kRoomForModules = 110;  // columns

// In units of 1e12; what is nothing has no rate.
std::string tera(const std::optional<double>& per_second) {
  return !per_second || *per_second <= 0 ? "-" : human_number(*per_second / 1e12);
}

std::string bytes_or_dash(int64_t bytes) { return bytes < 0 ? "-" : human_bytes(bytes); }

std::string hlo_up_to(double cumulative_share) { return human_percent(std::min(1.0, cumulative_share)); }

std::string category_name(const HloCategoryRow& row) {
  if (!row.category.empty()) return row.category;
  return row.operations > 0 ? "(not known)" : "(of no HLO operation)";
}

}  // namespace

std::string hlo_section(const RankReport& report, const RankTextOptions& options) {
  const std::vector<HloCategoryRow>& categories = report.tables.hlo_categories;
  const std::vector<HloOperationRow>& operations = report.tables.hlo_operations;
  RankTable by_category(
      options, "HLO category",
      {{"operations", 11}, {"executed", 9}, {"time", 10}, {"share", 7}, {"up to", 7}, {"TFLOP/s", 9}, {"TB/s", 6}});
  using C = HloCategoryFields;
  for (size_t i = 0; i < std::min(categories.size(), by_category.most(kMostHloCategories)); ++i) {
    const HloCategoryRow& row = categories[i];
    by_category.add(category_name(row),
                    {std::to_string(row.operations), std::to_string(row.executions), human_duration(row.total_ns),
                     human_percent(row.share), hlo_up_to(row.cumulative_share), tera(C::rate<&C::Row::flops>(row)),
                     tera(C::rate<&C::Row::bytes>(row))});
  }
  const bool wide = options.columns >= kRoomForModules;
  std::vector<RankTable::Head> heads = {{"executed", 9}, {"time", 10},   {"share", 7},
                                        {"moves", 10},   {"TFLOP/s", 9}, {"TB/s", 6}};
  if (wide) heads.insert(heads.end(), {{"category", 24}, {"module", 20}});
  RankTable by_operation(options, "HLO operation", heads);
  using O = HloOperationFields;
  for (size_t i = 0; i < std::min(operations.size(), by_operation.most(kMostHloOperations)); ++i) {
    const HloOperationRow& row = operations[i];
    std::vector<std::string> cells = {std::to_string(row.executions),     human_duration(row.total_ns),
                                      human_percent(row.share),           bytes_or_dash(row.bytes),
                                      tera(O::rate<&O::Row::flops>(row)), tera(O::rate<&O::Row::bytes>(row))};
    if (wide) {
      cells.push_back(row.category.empty() ? "-" : fit(row.category, 23));
      cells.push_back(row.module.empty() ? "-" : fit(row.module, 19));
    }
    by_operation.add(row.name, std::move(cells));
  }
  return by_category.text(categories.size(), "categories") + by_operation.text(operations.size(), "operations");
}

}  // namespace skewscope::report
