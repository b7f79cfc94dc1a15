#include "collectives/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "collectives/kernel_names.h"
#include "skewscope/base/file_text.h"

namespace skewscope {
namespace embedded {

const char* kernels();

}  // namespace embedded

namespace {

using nlohmann::json;

// '*' in `pattern` represents any text, none too. Both are short.
bool fits_pattern(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, tried = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      tried = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star == std::string_view::npos) {
      return false;
    } else {
      p = star + 1;
      t = ++tried;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string text_of(const json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_string() ? found->get<std::string>() : "";
}

// What is wrong with the entry; "" when its functions were added.
std::string add_entry(const json& entry, std::vector<KernelTable::Entry>& entries) {
  if (!entry.is_object()) return "is no object";
  KernelTable::Entry made;
  made.space = text_of(entry, "namespace");
  const std::string kind = text_of(entry, "kind");
  made.communicates = kind != "none";
  if (made.communicates && kind != "named") {
    made.kind = kind_called(kind);
    if (!made.kind) return fmt::format("has no \"kind\" that is an operation, \"named\" or \"none\" (\"{}\")", kind);
  }
  if (const auto waits = entry.find("waits"); waits != entry.end()) {
    if (!waits->is_boolean()) return "has a \"waits\" that is neither true nor false";
    made.waits = waits->get<bool>();
  }
  const auto functions = entry.find("functions");
  if (functions == entry.end() || !functions->is_array() || functions->empty()) return "has no list \"functions\"";
  for (const json& function : *functions) {
    if (!function.is_string() || function == "") return "\"functions\" holds what is no text";
    made.function = folded_name(function.get<std::string>());
    entries.push_back(made);
  }
  return "";
}

Result<std::vector<KernelTable::Entry>> read_kernels(std::string_view text, const std::string& origin) {
  const auto wrong = [&](const std::string& what) {
    return Error{ErrorKind::usage, fmt::format("{}: {}; configs/README.md shows the form", origin, what)};
  };
  const json document = json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) return wrong("no JSON");
  if (!document.is_object() || !document.contains("kernels") || !document["kernels"].is_array()) {
    return wrong("has no list \"kernels\"");
  }
  std::vector<KernelTable::Entry> entries;
  size_t number = 0;
  for (const json& entry : document["kernels"]) {
    ++number;
    const std::string what = add_entry(entry, entries);
    if (!what.empty()) return wrong(fmt::format("entry {} {}", number, what));
  }
  return entries;
}

bool fits_path(const KernelTable::Entry& entry, const std::vector<std::string>& path, std::string_view function) {
  if (!entry.space.empty() && std::find(path.begin(), path.end() - 1, entry.space) == path.end() - 1) return false;
  return fits_pattern(entry.function, function);
}

}  // namespace

const KernelTable& KernelTable::built_in() {
  static const KernelTable table = [] {
    KernelTable made;
    made.entries_ = read_kernels(embedded::kernels(), "configs/kernels.json").value();
    return made;
  }();
  return table;
}

Result<KernelTable> KernelTable::parse(std::string_view json, const std::string& origin) {
  Result<std::vector<Entry>> given = read_kernels(json, origin);
  if (!given.ok()) return given.error();
  KernelTable table;
  table.entries_ = std::move(given).value();
  table.entries_.insert(table.entries_.end(), built_in().entries_.begin(), built_in().entries_.end());
  table.mark_ = fmt::format("k{:x}", std::hash<std::string_view>{}(json));
  return table;
}

Result<KernelTable> KernelTable::load(const std::string& path) {
  const std::optional<std::string> text = file_text(path);
  if (!text) return Error{ErrorKind::usage, fmt::format("{}: cannot be read: {}", path, std::strerror(errno))};
  return parse(*text, path);
}

KernelNature KernelTable::nature_of(std::string_view kernel_name) const {
  const std::vector<std::string> path = path_of_kernel(kernel_name);
  const std::string function = folded_name(path.back());
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return fits_path(entry, path, function); });
  KernelNature nature;
  if (known != entries_.end()) {
    nature.communicates = nature.custom = known->communicates;
    nature.waits = known->waits;
    nature.kind = known->kind ? *known->kind : kind_by_word(function).value_or(CollectiveKind::unknown);
    if (!nature.communicates) nature.kind = CollectiveKind::unknown;
    return nature;
  }
  if (const auto kind = kind_of_library_kernel(path)) {
    nature.communicates = true;
    nature.kind = *kind;
  } else if (const auto word = kind_by_word(function)) {
    nature.communicates = nature.custom = nature.only_by_word = true;
    nature.kind = *word;
  }
  return nature;
}

GpuWork KernelTable::work_of(std::string_view kernel_name) const {
  if (const std::optional<GpuWork> moves = moving_kernel(kernel_name)) return *moves;
  return nature_of(kernel_name).communicates ? GpuWork::communication : GpuWork::compute;
}

}  // namespace skewscope
