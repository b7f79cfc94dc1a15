#include "defects.h"

namespace skewscope::ingest {
namespace {

struct Words {
  FindingCode code;
  Severity severity;
  const char* message;
};

constexpr std::array<Words, kDefectCount> kWords = {{
    {"repaired-quotes", Severity::warning, "strings held unescaped quotes; they were read as text"},
    {"replaced-bytes", Severity::warning, "strings held control bytes or bytes that are not UTF-8; they were replaced"},
    {"bad-escape", Severity::info, "strings held backslashes that escape nothing; they were kept as text"},
    {"mismatched-braces", Severity::warning,
     "brackets of events did not match; they were closed where the next event begins"},
    {"bare-nan", Severity::info, "values were NaN, inf, N/A or beyond 64 bits; they count as absent"},
    {"number-as-string", Severity::info, "numbers were written as strings; they were read as numbers"},
    {"long-fraction", Severity::info, "stamps had more than three digits behind the microsecond; the rest was cut off"},
    {"duplicate-key", Severity::info, "arguments were given twice; the last one was taken"},
    {"negative-duration", Severity::warning, "durations were negative; they count as 0"},
    {"no-duration", Severity::warning, "complete events (ph X) had no duration; they count as 0"},
    {"open-event", Severity::warning,
     "events (ph B, E) began without an end, which count as 0, or ended without a beginning, which were left out"},
    {"zero-stamp", Severity::warning, "GPU events had time stamp 0 and duration 0; they were dropped"},
    {"absent-value", Severity::info,
     "values were absent or without quotes, or commas stood behind the last one; all else of the events was read"},
    {"partly-read-event", Severity::warning,
     "events could not be repaired; of them only what stands whole was read, which is their time at least"},
    {"dropped-event", Severity::warning,
     "events could not be read, even after repair; their time is missing from the report"},
    {"operator-gpu-time", Severity::warning,
     "\"CUDA functions\" are GPU time by operator, not by kernel; they were left out: record with torch.profiler"},
    {"skipped-bytes", Severity::warning, "text between events was no event; it was skipped"},
    {"oversized-event", Severity::warning,
     "no event ended within the largest chunk; the text up to the next event was skipped"},
    {"interleaved-files", Severity::error,
     "several traces were written into one file; what could be read is kept, but it is doubtful which rank it belongs "
     "to"},
    {"damaged-head", Severity::warning, "keys beside the events could not be read; what they say is missing"},
    {"truncated-file", Severity::warning, "the file ends before its JSON does; all complete events were kept"},
    {"gzip-without-trailer", Severity::info, "the gzip checksum is missing; all data were read"},
    {"damaged-compression", Severity::error,
     "the compressed data are damaged; only what stands before the damage was read"},
    {"trailing-bytes", Severity::info, "bytes after the compressed data were ignored"},
    {kUnreadableFile, Severity::error, "the file could not be read to its end"},
    {"empty-file", Severity::error, "the file holds no events; it adds nothing to the report"},
    {"unpadded-fractions", Severity::info,
     "fractions of microseconds are written without leading zeros (PyTorch nightlies of spring 2024); \".5\" was read "
     "as 5 ns"},
}};

const Words& words(Defect defect) { return kWords[static_cast<size_t>(defect)]; }

}  // namespace

FindingCode code_of(Defect defect) { return words(defect).code; }

void DefectCounts::add(const DefectCounts& other) {
  for (size_t i = 0; i < kDefectCount; i++) {
    const Entry& entry = other.entries_[i];
    if (entry.count > 0) add(static_cast<Defect>(i), entry.first, entry.count);
  }
}

bool DefectCounts::any() const {
  for (const Entry& entry : entries_) {
    if (entry.count > 0) return true;
  }
  return false;
}

Findings DefectCounts::to_findings(const std::string& file) const {
  Findings findings;
  for (size_t i = 0; i < kDefectCount; i++) {
    const Entry& entry = entries_[i];
    if (entry.count == 0) continue;
    std::string message = kWords[i].message;
    if (static_cast<Defect>(i) == Defect::truncated_file)
      message = "truncated at byte " + std::to_string(entry.first) + ": " + message;
    findings.push_back(
        {kWords[i].severity, kWords[i].code, file, Rank(), entry.first, entry.count, std::move(message)});
  }
  return findings;
}

void count_source_end(SourceEnd end, int64_t bytes, DefectCounts& defects) {
  switch (end) {
    case SourceEnd::whole:
      return;
    case SourceEnd::cut:
      if (defects.count(Defect::truncated_file) == 0) defects.add(Defect::truncated_file, bytes);
      return;
    case SourceEnd::no_trailer:
      return defects.add(Defect::gzip_without_trailer, bytes);
    case SourceEnd::damaged:
      return defects.add(Defect::damaged_compression, bytes);
    case SourceEnd::trailing:
      return defects.add(Defect::trailing_bytes, bytes);
    case SourceEnd::unreadable:
      return defects.add(Defect::unreadable_file, bytes);
  }
}

}  // namespace skewscope::ingest
