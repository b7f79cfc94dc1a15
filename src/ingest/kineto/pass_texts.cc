#include "pass_texts.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "src/ingest/content/file_content.h"
#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

// As written; "": the key is not there, or the text ends before the number does.
std::string_view number_behind(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const size_t begin = at + key.size(), end = text.find_first_of(",\n}", begin);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin);
}

bool read_time(std::string_view text, std::string_view key, bool unpadded, int64_t& ns) {
  FractionForm form;
  return read_microseconds(number_behind(text, key), unpadded, ns, form);
}

void read_pass_text(const PassText& kept, bool unpadded, FileContent& content) {
  const std::string_view text(kept.text.data(), kept.text.size());
  int64_t thread = 0, start_ns = 0, duration_ns = 0, id = 0;
  if (!read_time(text, "\"ts\": ", unpadded, start_ns)) return;
  if (!read_integer(number_behind(text, "\"tid\": "), thread)) return;
  if (!text.starts_with('{')) {
    if (!read_time(text, "\"dur\": ", unpadded, duration_ns)) return;
    content.backward_ops.push_back({LocalNs{start_ns}, std::max<int64_t>(duration_ns, 0), thread});
  } else if (read_integer(number_behind(text, "\"id\": "), id)) {
    content.pass_flows.push_back({LocalNs{start_ns}, thread, id, text.find("\"ph\": \"f\"") != text.npos});
  }
}

constexpr size_t kMostWithoutModule = (16 << 20) / sizeof(PassText);

}  // namespace

int64_t append_pass_texts(std::vector<PassText> texts, bool any_module, PassTexts& kept) {
  if (texts.empty() || kept.given_up) return 0;
  const auto bytes_of = [](size_t count) { return static_cast<int64_t>(count * sizeof(PassText)); };
  if (!any_module && kept.count + texts.size() > kMostWithoutModule) {
    const int64_t freed = bytes_of(kept.count);
    kept = {{}, 0, true};
    return -freed;
  }
  kept.count += texts.size();
  const int64_t grown = bytes_of(texts.size());
  kept.chunks.push_back(std::move(texts));
  return grown;
}

void read_pass_texts(const PassTexts& kept, bool unpadded, FileContent& content) {
  if (content.modules.empty() || kept.given_up) {
    content.backward_ops.clear();
    content.pass_flows.clear();
  } else {
    for (const std::vector<PassText>& chunk : kept.chunks) {
      for (const PassText& text : chunk) read_pass_text(text, unpadded, content);
    }
    std::sort(content.backward_ops.begin(), content.backward_ops.end(), [](const BackwardRow& a, const BackwardRow& b) {
      return std::tie(a.thread, a.start, b.duration_ns) < std::tie(b.thread, b.start, a.duration_ns);
    });
    std::sort(content.pass_flows.begin(), content.pass_flows.end(), [](const PassFlowRow& a, const PassFlowRow& b) {
      return std::tie(a.backward, a.thread, a.start, a.id) < std::tie(b.backward, b.thread, b.start, b.id);
    });
  }
}

}  // namespace skewscope::ingest
