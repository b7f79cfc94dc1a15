// Damaged text: details do not change what the rest of the trace says.
#include <algorithm>
#include <random>

#include "detail_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

constexpr char kDetailBytes[] = "\"\\{}[],:\n\0x\xff 0-.eE/u";

void damage_details(std::string& text, std::mt19937& random) {
  const size_t at = random() % text.size();
  const size_t length = 1 + random() % 40;
  const char byte = kDetailBytes[random() % (sizeof kDetailBytes - 1)];
  switch (random() % 5) {
    case 0:
      text[at] = byte;
      break;
    case 1:
      text.insert(at, 1, byte);
      break;
    case 2:
      text.erase(at, length);
      break;
    case 3:
      text.insert(at, text.substr(random() % text.size(), length));
      break;
    default:
      text.resize(at + 1);
      break;
  }
}

std::string small_trace() {
  std::string events;
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i);
    events += (i == 0 ? "\n" : ",\n") + fmt::format(R"(  {{
    "ph": "X", "cat": "python_function", "name": "<built-in method f of X object at 0x7f{0}>", "pid": 5, "tid": 6,
    "ts": {0}1, "dur": 9,
    "args": {{"Python id": {0}}}
  }},
  {{
    "ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 5, "tid": 6,
    "ts": {0}2.5, "dur": 7,
    "args": {{"External id": {0}, "Input Dims": [[2, {0}], []], "Concrete Inputs": ["", "\"a\""], "Sequence number": {0}}}
  }},
  {{
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 5, "tid": 6,
    "ts": {0}3, "dur": 1,
    "args": {{"correlation": {0}}}
  }},
  {{
    "ph": "s", "id": {0}, "pid": 5, "tid": 6, "ts": {0}3,
    "cat": "ac2g", "name": "ac2g"
  }},
  {{
    "ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7,
    "ts": {0}6.125, "dur": 2,
    "args": {{"device": 0, "stream": 7, "correlation": {0}, "grid": [{0}, 1, 1], "block": [32, 1, 1]}}
  }})",
                                                    i + 1);
  }
  return trace_of(events, "", R"(, "baseTimeNanoseconds": 17)");
}

// Start and duration of the GPU rows, sorted.
std::vector<std::pair<int64_t, int64_t>> gpu_times(const LinkedTrace& linked) {
  std::vector<std::pair<int64_t, int64_t>> times;
  for (size_t i = 0; i < linked.trace.gpu.size(); ++i) {
    times.emplace_back(linked.trace.gpu.start[i].ns, linked.trace.gpu.duration_ns[i]);
  }
  std::sort(times.begin(), times.end());
  return times;
}

bool counts(const LinkedTrace& linked, FindingCode code) {
  return std::any_of(linked.findings.begin(), linked.findings.end(),
                     [&](const Finding& finding) { return finding.code == code; });
}

}  // namespace

// Without details, damage inside an event that leaves no row goes unseen, or hides the events behind it; and what only
// details look at may cost the event it stands in, which is then counted.
TEST_CASE("reading details loses no GPU row of a damaged trace but the one that was damaged") {
  std::mt19937 random(20261121);
  const std::string whole = small_trace();
  int equal = 0;
  constexpr int kRounds = 1500;
  for (int round = 0; round < kRounds; ++round) {
    std::string text = whole;
    damage_details(text, random);
    const TempFile file(text);
    ReadSettings settings;
    settings.chunk_bytes = round % 2 ? 1 << 20 : 500;
    const LinkedTrace plain = link_calls(read_file(file.path(), settings));
    settings.details = true;
    const LinkedTrace detailed = link_calls(read_file(file.path(), settings));
    CAPTURE(round, text);
    REQUIRE(check_invariants(*detailed.detail, detailed.trace) == "");
    equal += as_text(detailed) == as_text(plain);
    const auto with = gpu_times(detailed), without = gpu_times(plain);
    std::vector<std::pair<int64_t, int64_t>> lost;
    std::set_difference(without.begin(), without.end(), with.begin(), with.end(), std::back_inserter(lost));
    REQUIRE(lost.size() <= 1);
    if (!lost.empty()) REQUIRE(counts(detailed, "dropped-event"));
  }
  CHECK(equal > kRounds * 99 / 100);
}

TEST_CASE("what tracers break is repaired alike with details and without") {
  const auto broken = [](const std::string& from, const std::string& to) {
    std::string text = small_trace();
    const size_t at = text.find(from, text.size() / 2);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  for (const std::string& text :
       {broken("aten::add", "aten::\"add\""), broken("gemm", "C:\\gemm\x01\xff"), broken("gemm", "g\nemm"),
        broken("\"dur\": 2", "\"dur\": -2"), broken("\"dur\": 2", "\"dur\": NaN"),
        broken("\"correlation\": 7", "\"correlation\": N/A"), broken("\"ts\"", "\"ts\": \"x\", \"tz\""),
        broken("[32, 1, 1]}", "[32, 1, 1"), broken("}\n  },", "}\n  },,"), broken("cudaLaunchKernel", "\\u12"),
        small_trace().substr(0, 2500), small_trace() + small_trace()}) {
    const TempFile file(text);
    const LinkedTrace plain = link_calls(read_file(file.path()));
    const LinkedTrace detailed = link_calls(read_file(file.path(), with_details()));
    CAPTURE(text);
    CHECK(as_text(detailed) == as_text(plain));
    CHECK(check_invariants(*detailed.detail, detailed.trace) == "");
  }
}
