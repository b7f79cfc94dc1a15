// Each row of a document or table is described once (src/report/fields): schemas and configs/fields.md follow from it.
// SKEWSCOPE_WRITE=1 writes them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/report/fields/columns.h"
#include "src/report/fields/communication_fields.h"
#include "src/report/fields/finding_fields.h"
#include "src/report/fields/gain_fields.h"
#include "src/report/fields/gpu_fields.h"
#include "src/report/fields/hlo_fields.h"
#include "src/report/fields/job_fields.h"
#include "src/report/fields/json_row.h"
#include "src/report/fields/memory_fields.h"
#include "src/report/fields/operator_fields.h"
#include "src/report/fields/run_fields.h"
#include "src/report/tables/component_rows.h"
#include "src/report/words/verdict_row.h"

using namespace skewscope;
using namespace skewscope::report;

namespace {

const std::string kConfigs = std::string(SKEWSCOPE_SOURCE_DIR) + "/configs/";

bool writes() { return std::getenv("SKEWSCOPE_WRITE") != nullptr; }

std::string text_in(const std::string& file) {
  std::ifstream in(kConfigs + file);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What a field is said to be, whatever its row.
struct Told {
  std::string name, type, meaning;
  bool known = false;  // every row has it
  In in = In::both;
};

template <class Type>
std::string type_name() {
  if constexpr (requires(Type value) { value.has_value(); }) {
    return type_name<typename Type::value_type>();
  } else if constexpr (std::is_same_v<Type, bool>) {
    return "boolean";
  } else if constexpr (std::is_same_v<Type, double>) {
    return "number";
  } else if constexpr (std::is_integral_v<Type> || std::is_same_v<Type, Rank>) {
    return "integer";
  } else if constexpr (requires(Type value) {
                         value.push_back({});
                         value.front().size();
                       }) {
    return "texts";
  } else if constexpr (requires(Type value) {
                         value.push_back(1);
                         value.capacity();
                       } &&
                       !std::is_same_v<Type, std::string>) {
    return "integers";
  } else {
    return "text";
  }
}

template <auto Value, auto Known>
void tell(const Field<Value, Known>& field, std::vector<Told>& out) {
  using Type = std::remove_cvref_t<decltype(std::invoke(Value, std::declval<const RowOf<Value>&>()))>;
  out.push_back({field.name, type_name<Type>(), field.meaning, field.kAlwaysKnown, field.in});
}
template <auto Value, bool kWhole>
void tell(const StatisticsField<Value, kWhole>& field, std::vector<Told>& out) {
  out.push_back({field.name, "figures", field.meaning, false, In::both});
}
void tell_figures(const std::vector<std::string>& names, std::string_view meaning, std::vector<Told>& out) {
  static constexpr const char* kWholes[] = {"sum_ns", "min_ns", "max_ns"};
  for (const std::string& name : names) {
    const bool whole =
        std::any_of(std::begin(kWholes), std::end(kWholes), [&](const char* end) { return name.ends_with(end); });
    out.push_back({name, whole ? "integer" : "number", std::string(meaning), false, In::both});
  }
}
template <auto Value>
void tell(const SpreadField<Value>& field, std::vector<Told>& out) {
  std::vector<std::string> names;
  for (const char* figure : {"sum", "mean", "median", "deviation", "min", "max"}) {
    names.push_back(std::string(field.name) + "_" + figure + "_ns");
  }
  tell_figures(names, field.meaning, out);
}
template <auto Value>
void tell(const DistributionField<Value>& field, std::vector<Told>& out) {
  std::vector<std::string> names;
  for (const char* figure : {"mean", "deviation", "least", "quartile_1", "median", "quartile_3", "most"}) {
    names.push_back(std::string(figure) + field.name);
  }
  tell_figures(names, field.meaning, out);
}
template <class Fields>
std::vector<Told> told_of();
template <auto Value, class Inner, bool kFlat>
void tell(const NestedField<Value, Inner, kFlat>& field, std::vector<Told>& out) {
  if (!kFlat) out.push_back({field.name, "object", field.meaning, true, In::document});
  for (const Told& one : kFlat ? told_of<Inner>() : std::vector<Told>()) out.push_back(one);
}
template <class Fields>
std::vector<Told> told_of() {
  std::vector<Told> out;
  for_each_field<Fields>([&](const auto& field) { tell(field, out); });
  return out;
}

struct Described {
  About about;
  std::vector<Told> fields;
};
template <class... Fields>
std::vector<Described> described() {
  return {{Fields::kAbout, told_of<Fields>()}...};
}

std::vector<Described> of_report() {
  return described<JobFields, VerdictFields, ClockFields, ComponentFields, ComponentTableFields, CommunicatorFields,
                   CommunicatorRankFields, RankFields, CollectiveFields, TransportFields, TrendFields, StragglerFields,
                   CauseFields, FlowFields, EfficiencyFields, MatchingFields, FindingFields, WhatIfFields,
                   ProgramFields, OperationFields, OperationPartFields, PipelineFields, StageFields, StepFields,
                   ComponentStepFields, RankStepFields, OutsideStepsFields, CollectiveStepFields, LossFields,
                   FoundJobFields, OverlapFields, OverlapModuleFields, AllToAllFields, AllToAllRankFields,
                   AllToAllPairFields, BaselineFields, CallFields, UnmatchedFields, RankStatisticFields>();
}
std::vector<Described> of_scale() {
  return described<ScaleRunFields, ScaleLossFields, ScaleCauseFields, ProjectionFields, ProjectionPointFields>();
}
std::vector<Described> of_compare() {
  return described<CompareRunFields, ChangeFields, StepPartFields, RankPartFields, HostPartFields, HostRankPartFields,
                   CollectivePartFields, CommunicatorPartFields, KernelChangeFields, OperatorChangeFields>();
}

std::vector<Described> of_rank() {
  return described<TimelineFields, TimelineBinFields, TogetherFields, StreamFields, GapFields, QueueFields,
                   QueueBinFields, LaunchBoundFields, LaunchFields, KernelFields, KernelShapeFields, CopyFields,
                   HostCallFields, OverheadFields, UtilizationFields, HloOperationFields, HloCategoryFields,
                   CategoryFields, OperatorFields, OperatorArgumentFields, ArgumentPositionFields, LaunchedKernelFields,
                   ShortBinFields, ShortKernelFields, OwnCollectiveFields, WorkFields, WorkPositionFields, ModuleFields,
                   AnnotationFields, CompiledRegionFields, CompileEventFields, TritonFields, GraphFields,
                   PathKindFields, PathNameFields, ExecutionFields, AdviceFields, OperatorPassFields, CallStackFields,
                   MemoryFields, MemoryBinFields, MemoryAtPeakFields, EvidenceFields>();
}

std::string unit_of(const std::string& name) {
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (ends("_ns")) return "ns";
  if (ends("_gb_per_s")) return "GB/s (1e9)";
  if (ends("_ppb")) return "1e-9";
  if (ends("_share") || name == "weight") return "0..1";
  return ends("bytes") || ends("bytes_up_to") ? "bytes" : "";
}

// As Markdown: what each row is, then its fields.
std::string page_of(const std::string& document, const std::vector<Described>& rows) {
  std::string text = "\n## " + document + "\n";
  for (const Described& row : rows) {
    const std::string path = row.about.path, table = row.about.table;
    text += "\n### " + (path.empty() ? "tables/" + table + ".csv" : "`" + path + "`");
    if (!path.empty() && !table.empty()) text += ", tables/" + table + ".csv";
    text += "\n\n" + std::string(row.about.meaning) +
            "\n\n| field | type | unit | null | meaning |\n|---|---|---|---|---|\n";
    for (const Told& field : row.fields) {
      const char* const only = field.in == In::document ? " (document alone)"
                               : field.in == In::tables ? " (table alone)"
                                                        : "";
      text += "| `" + field.name + "` | " + field.type + " | " + unit_of(field.name) + " | " +
              (field.known ? "" : "yes") + " | " + field.meaning + (path.empty() || table.empty() ? "" : only) + " |\n";
    }
  }
  return text;
}

std::string page() {
  return "# Fields of the documents and tables\n\n"
         "Written from `src/report/fields` by `SKEWSCOPE_WRITE=1 test_report \"the page of fields*\"`. A field has one "
         "name and\n"
         "one meaning in report.json, CSV, SQLite, spreadsheet and page. `null` says that a row may lack it: \"not\n"
         "determined\", which is null in the document, an empty cell in CSV and NULL in SQLite, never 0. `figures` are "
         "sum,\n"
         "mean, median, p99, min and max: an object in the document, six columns in tables (`wait_sum_ns`, ...). The "
         "schemas\n"
         "(`report.schema.json`, `rank.schema.json`, `scale.schema.json`, `compare.schema.json`) hold the same "
         "meanings.\n" +
         page_of("report.json", of_report()) + page_of("rank.json", of_rank()) + page_of("scale.json", of_scale()) +
         page_of("compare.json", of_compare());
}

// The schema's object of a row at "what_if/operations"; nullptr: there is none. Where it has no description of its own,
// it gets `meaning` as it is written.
Json* object_at(Json& schema, std::string_view path, const char* meaning) {
  Json* at = &schema;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string name(path.substr(0, slash));
    path = slash == std::string_view::npos ? "" : path.substr(slash + 1);
    if (!at->contains("properties") || !(*at)["properties"].contains(name)) return nullptr;
    at = &(*at)["properties"][name];
    if (path.empty() && writes() && !at->contains("description")) (*at)["description"] = meaning;
    if (path.empty()) CHECK(at->contains("description"));
    if (at->contains("items")) at = &(*at)["items"];
  }
  return at;
}

bool allows_null(const Json& schema, const Json& property) {
  if (property.contains("$ref")) {
    return allows_null(schema, schema.at(Json::json_pointer(property["$ref"].get<std::string>().substr(1))));
  }
  if (property.contains("oneOf")) return allows_null(schema, property["oneOf"][0]);
  const Json kinds = property.contains("enum")   ? property["enum"]
                     : property.contains("type") ? property["type"]
                                                 : Json();
  if (kinds.is_string()) return kinds == "null";
  return std::any_of(kinds.begin(), kinds.end(), [](const Json& kind) { return kind.is_null() || kind == "null"; });
}

// Paths of the properties of a schema that have no description.
void add_silent(const Json& schema, const std::string& path, std::vector<std::string>& silent) {
  if (schema.is_array()) {
    for (const Json& one : schema) add_silent(one, path, silent);
  }
  if (!schema.is_object()) return;
  for (const auto& [key, value] : schema.items()) {
    if (key == "properties" || key == "definitions") {
      for (const auto& [name, property] : value.items()) {
        if (key == "properties" && property.value("description", "").empty()) silent.push_back(path + "." + name);
        add_silent(property, path + "." + name, silent);
      }
    } else {
      add_silent(value, path, silent);
    }
  }
}

// Every field that is described is in the schema, with its meaning and whether it may be null.
void check_schema(const std::string& file, const std::vector<Described>& rows) {
  Json schema = Json::parse(text_in(file));
  for (const Described& row : rows) {
    if (*row.about.path == 0) continue;
    INFO(file << ": " << row.about.path);
    Json* const object = object_at(schema, row.about.path, row.about.meaning);
    REQUIRE(object != nullptr);
    Json& properties = (*object)["properties"];
    for (const Told& field : row.fields) {
      if (field.in == In::tables) continue;
      INFO(field.name);
      REQUIRE(properties.contains(field.name));
      if (writes()) properties[field.name]["description"] = field.meaning;
      CHECK(properties[field.name].value("description", "") == field.meaning);
      CHECK(allows_null(schema, properties[field.name]) == !field.known);
    }
  }
  if (writes()) std::ofstream(kConfigs + file) << schema.dump(2) << "\n";
}

}  // namespace

TEST_CASE("each field that a document has is in its schema, with its meaning and whether it may be null") {
  check_schema("report.schema.json", of_report());
  check_schema("rank.schema.json", of_rank());
  check_schema("scale.schema.json", of_scale());
  check_schema("compare.schema.json", of_compare());
}

TEST_CASE("the page of fields is what the rows are described as") {
  if (writes()) std::ofstream(kConfigs + "fields.md") << page();
  CHECK(text_in("fields.md") == page());
}

TEST_CASE("no two fields of a row have one name in one place, and each has a meaning") {
  for (const auto& rows : {of_report(), of_rank(), of_scale(), of_compare()}) {
    for (const Described& row : rows) {
      INFO(row.about.path << " " << row.about.table);
      std::set<std::string> in_document, in_tables;
      for (const Told& field : row.fields) {
        INFO(field.name);
        CHECK((field.in == In::tables || in_document.insert(field.name).second));
        CHECK((field.in == In::document || in_tables.insert(field.name).second));
        CHECK_FALSE(field.meaning.empty());
      }
    }
  }
}

TEST_CASE("every property of every schema says what it means") {
  for (const char* document : {"report", "rank", "scale", "compare"}) {
    std::vector<std::string> silent;
    add_silent(Json::parse(text_in(std::string(document) + ".schema.json")), document, silent);
    CHECK(silent == std::vector<std::string>());
  }
  std::vector<std::string> silent;
  add_silent(Json::parse(R"({"properties": {"a": {"type": "integer"}, "b": {"description": "b", "items": {"properties":
                             {"c": {}}}}}})"),
             "", silent);
  CHECK(silent == std::vector<std::string>{".a", ".b.c"});
}

TEST_CASE("a size that is not known is 0 in the document, as ever, and empty in tables") {
  std::vector<JobReport::CollectiveRow> rows(2);
  rows[1].bytes = 4096;
  CHECK(row_json<CollectiveFields>(rows[0])["bytes"] == 0);
  const Table table = table_of<CollectiveFields>(rows);
  REQUIRE(table.columns[3].name == "bytes");
  std::vector<Cell> cells;
  table.fill(0, cells);
  CHECK(cells[3] == Cell());
  table.fill(1, cells);
  CHECK(cells[3] == Cell(int64_t{4096}));
}

TEST_CASE("a list without members is known to be empty, whatever it lists") {
  JobReport::Job job;
  const Table table = row_table<JobFields>(job);
  std::vector<Cell> cells;
  table.fill(0, cells);
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const std::string& name = table.columns[c].name;
    INFO(name);
    if (name == "hosts" || name == "ranks_missing" || name == "steps") CHECK(cells[c] == Cell(std::string()));
  }
}

TEST_CASE("what is described comes back from the document as it was written, and what is not determined stays so") {
  JobReport::Straggler row;
  row.rank = 3;
  row.late_candidates = 7;
  row.cause = LateCause::host;
  row.cause_share = 0.5;
  row.pattern = LatePattern::one_off;
  const Json json = row_json<StragglerFields>(row);
  CHECK(json["late_candidates"] == 7);
  CHECK(json["cause"] == "host");
  CHECK(json["pattern"] == "one-off");
  CHECK(json["standing"].is_null());
  CHECK(json["saved_ns"].is_null());
  JobReport::Straggler back;
  read_row<StragglerFields>(json, back);
  CHECK(back.rank == 3);
  CHECK(back.cause == LateCause::host);
  CHECK(back.pattern == LatePattern::one_off);
  CHECK_FALSE(back.standing.has_value());
}

TEST_CASE("the columns of a table are the described fields, figures as six columns") {
  const std::vector<JobReport::CollectiveRow> rows(1);
  std::vector<std::string> names;
  for (const report::Column& column : table_of<CollectiveFields>(rows).columns) names.push_back(column.name);
  CHECK(names.size() == 7 + 6 * 6 + 2);  // `bytes` once
  CHECK(names[7] == "wait_sum_ns");
  CHECK(names[7 + 6 * 6 - 1] == "bus_bandwidth_max_gb_per_s");
  CHECK(names.back() == "split_of_measured_ns");
}
