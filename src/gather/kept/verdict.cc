#include "verdict.h"

#include <unistd.h>

#include <algorithm>

namespace skewscope::gather {

std::string verdict_in_summary(std::string_view summary) {
  constexpr std::string_view kLabel = "Verdict ";
  constexpr std::string_view kHang = "Hang ";  // one of dumps counts them first
  constexpr size_t kMostBytes = 300;
  if (summary.starts_with(kHang)) summary.remove_prefix(std::min(summary.find("\nVerdict "), summary.size() - 1) + 1);
  if (!summary.starts_with(kLabel)) return "";
  summary.remove_prefix(kLabel.size());
  std::string verdict;
  while (!summary.empty()) {
    const size_t end = std::min(summary.find('\n'), summary.size());
    std::string_view line = summary.substr(0, end);
    summary.remove_prefix(std::min(end + 1, summary.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (!line.empty()) verdict += (verdict.empty() ? "" : " ") + std::string(line);
    if (line.empty() || !summary.starts_with(' ')) break;  // the next label
  }
  if (verdict.size() <= kMostBytes) return verdict;
  size_t kept = kMostBytes;
  while (kept > 0 && (static_cast<unsigned char>(verdict[kept]) & 0xC0) == 0x80) --kept;  // within a letter
  return verdict.substr(0, kept) + "…";
}

std::string verdict_in(const Store& store, const std::string& job, const std::string& summary) {
  constexpr uint64_t kVerdictRead = 2048;  // a summary begins with it
  const auto stored = store.read_report(job, 0, summary);
  if (stored.refusal != Refusal::none) return "";
  std::string text(std::min(stored.value.size, kVerdictRead), '\0');
  const ssize_t got = pread(stored.value.fd, text.data(), text.size(), 0);
  ::close(stored.value.fd);
  text.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
  return verdict_in_summary(text);
}

}  // namespace skewscope::gather
