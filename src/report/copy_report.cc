// A report again, elsewhere and with another stamp: the documents say when and by what command they were made, the
// summary where they are, all else is copied.
//
// The stamp is looked for as it was written, both times by the functions that write it: a document in which it does not
// appear just so is no copy's source.
#include <algorithm>
#include <map>
#include <optional>

#include "report_directory.h"
#include "skewscope/base/file_text.h"
#include "src/report/fields/json_values.h"
#include "src/report/page_data/html_page.h"
#include "src/report/page_data/page_tables.h"

namespace skewscope {
namespace report {
namespace {

// Without the braces around it.
std::string within(const std::string& object) {
  const size_t first = object.find('{') + 1;
  return object.substr(first, object.find_last_of('}') - first);
}

std::string in_document(const ReportStamp& stamp) {
  const std::string members = within(text_of({{"command", stamp.command}, {"created_utc", stamp.created_utc}}));
  return members.substr(0, members.find_last_not_of('\n') + 1);
}

std::string in_page(const ReportStamp& stamp) {
  const Json members = {{"command", page_text(stamp.command)}, {"created_utc", stamp.created_utc}};
  return escape_for_script(within(members.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

struct Document {
  const char* name;
  std::string (*spelled)(const ReportStamp&);
};
constexpr Document kStamped[] = {{"report.json", in_document}, {"index.html", in_page}};

}  // namespace
}  // namespace report

Result<Done> copy_report(const std::string& from, const std::vector<ReportFile>& files, const ReportStamp& old,
                         const ReportStamp& stamp, const WriteOptions& options) {
  std::map<std::string, std::string> changed;
  const auto read = [&](const ReportFile& file) {
    std::optional<std::string> text = file_text(from + "/" + file.name);
    return text && text->size() == file.bytes ? std::move(*text) : "";
  };
  for (const ReportFile& file : files) {
    if (file.name == "summary.txt") changed[file.name] = summary_elsewhere(read(file), options.directory);
    const auto document = std::find_if(std::begin(report::kStamped), std::end(report::kStamped),
                                       [&](const report::Document& stamped) { return stamped.name == file.name; });
    if (document == std::end(report::kStamped)) continue;
    std::string text = read(file);
    const std::string before = document->spelled(old);
    const size_t place = text.find(before);
    if (place == std::string::npos) {
      return Error{ErrorKind::output, from + "/" + file.name + ": was not made when it should have been"};
    }
    changed[file.name] = text.replace(place, before.size(), document->spelled(stamp));
  }
  if (changed.empty()) return Error{ErrorKind::output, from + ": is no report directory"};
  return report::copy_directory(from, files, changed, options);
}

}  // namespace skewscope
