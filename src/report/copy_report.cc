// A report again, elsewhere and with another stamp: the documents say when and by what command they were made, the
// summary where they are, all else is copied.
//
// The stamp is looked for as it was written, both times by the functions that write it: a document in which it does not
// stand just so is no copy's source.
#include <fstream>
#include <map>
#include <sstream>

#include "html_page.h"
#include "json_values.h"
#include "page_tables.h"
#include "report_directory.h"

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

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return std::move(text).str();
}

}  // namespace
}  // namespace report

Result<Done> copy_report(const std::string& from, const ReportStamp& old, const ReportStamp& stamp,
                         const WriteOptions& options) {
  std::map<std::string, std::string> changed;
  changed["summary.txt"] = summary_elsewhere(report::text_of_file(from + "/summary.txt"), options.directory);
  for (const report::Document& document : report::kStamped) {
    std::string text = report::text_of_file(from + "/" + document.name);
    if (text.empty()) continue;  // of a format that was not asked for
    const std::string before = document.spelled(old);
    const size_t place = text.find(before);
    if (place == std::string::npos) {
      return Error{ErrorKind::output, from + "/" + document.name + ": was not made when it should have been"};
    }
    changed[document.name] = text.replace(place, before.size(), document.spelled(stamp));
  }
  return report::copy_directory(from, changed, options);
}

}  // namespace skewscope
