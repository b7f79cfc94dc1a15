#include "no_trace.h"

#include <utility>

namespace skewscope::ingest {

FileContent unreadable_content(const std::string& file, const std::string& reason) {
  FileContent content;
  content.file = file;
  content.kind = ContentKind::not_a_trace;
  content.findings.push_back(finding_of_file(Severity::error, kUnreadableFile, file, reason));
  return content;
}

FileContent unrecognised_content(const std::string& file, std::string_view head, const ByteSource& source) {
  FileContent content;
  content.file = file;
  content.compression = source.compression();
  content.bytes = static_cast<int64_t>(head.size());
  const bool blank = head.find_first_not_of(" \t\r\n") == std::string_view::npos;
  content.kind = blank ? ContentKind::empty : ContentKind::not_a_trace;
  DefectCounts defects;
  count_source_end(source.end(), content.bytes, defects);
  if (blank && source.end() != SourceEnd::unreadable) defects.add(Defect::empty_file, -1);
  content.findings = defects.to_findings(file);
  return content;
}

void set_other_format(const OtherFormat& format, FileContent& content) {
  content.kind = ContentKind::not_a_trace;
  content.findings.clear();  // what a trace would lack
  content.findings.push_back(finding_of_file(Severity::warning, "other-format", content.file,
                                             std::string(format.name) + "; left out: " + format.next_step));
}

}  // namespace skewscope::ingest
