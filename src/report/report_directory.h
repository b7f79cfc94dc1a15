// A directory of files that is whole or not there: a document, tables, a summary, diagnostics, COMPLETE.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/report.h"
#include "src/report/fields/table.h"

namespace skewscope::report {

struct DirectoryContent {
  std::string_view schema;    // is in COMPLETE: "skewscope.report/1"
  std::string_view document;  // file name of `json`: "report.json"
  std::vector<Table> tables;
  std::string views;                                        // SQL over the tables
  std::function<std::string()> json, summary, diagnostics;  // texts, made side by side
  std::function<std::string()> prometheus = nullptr;        // none where there is no such text
  std::function<std::string()> page = nullptr;              // index.html; none where there is no page
};

// Errors as write_report.
Result<Done> write_directory(const DirectoryContent& content, const WriteOptions& options);

// These files of `from` in a directory that is whole or not there; those that the directory it replaces has already, of
// the same bytes, owner and modes, go over from there. `changed`: by file name, the text of those that differ; at least
// one.
Result<Done> copy_directory(const std::string& from, const std::vector<ReportFile>& files,
                            const std::map<std::string, std::string>& changed, const WriteOptions& options);

}  // namespace skewscope::report
