// One sentence per defect of src/ingest/kineto/KINETO.md, section 10: what is kept, what is counted, and where.
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "skewscope/ingest.h"
#include "tests/cpu_time.h"
#include "tests/ingest/reader_support.h"

using namespace skewscope;
using namespace skewscope::ingest;

namespace {

const std::string kFirst = kernel("first", "1", "1");
const std::string kLast = kernel("last", "9", "1");

// A trace of three kernels; the one in the middle is given.
std::string around(const std::string& middle) { return trace_of(kFirst + ",\n" + middle + ",\n" + kLast); }

std::vector<std::string> names(const FileContent& content) {
  std::vector<std::string> all;
  for (size_t i = 0; i < content.gpu.size(); i++) all.push_back(name_of(content, i));
  return all;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a bare quote in a name is text") {
  const FileContent content = read_text(around(kernel("say \"hello\" twice", "5", "1")));
  CHECK(names(content) == Names{"first", "say \"hello\" twice", "last"});
  CHECK(count_of(content, "repaired-quotes") == 2);
  CHECK(place_of(content, "repaired-quotes") == static_cast<int64_t>(around("").find(",\n,\n")) + 2);
}

TEST_CASE("a bare quote before a comma inside a name is text") {
  const FileContent content = read_text(around(kernel("f(\"a\", \"b\")", "5", "1")));
  CHECK(names(content) == Names{"first", "f(\"a\", \"b\")", "last"});
}

TEST_CASE("bare quotes in arguments lose nothing, braces inside them neither") {
  const FileContent content =
      read_text(around(kernel("triton", "5", "1", R"("kernel_kwargs": "{"a": "b}", x"y", "correlation": 44)")));
  CHECK(names(content) == Names{"first", "triton", "last"});
  CHECK(content.gpu[1].correlation == 44);
  CHECK(count_of(content, "repaired-quotes") > 0);
}

TEST_CASE("a backslash that escapes nothing is kept as a byte") {
  const FileContent content = read_text(around(kernel(R"(C:\path\q)", "5", "1")));
  CHECK(names(content) == Names{"first", R"(C:\path\q)", "last"});
  CHECK(count_of(content, "bad-escape") == 2);
}

TEST_CASE("a backslash before the quote that ends a name does not swallow the event") {
  const FileContent content = read_text(around(kernel(R"(C:\dir\)", "5", "1")));
  CHECK(names(content) == Names{"first", R"(C:\dir\)", "last"});
}

TEST_CASE("escapes are resolved") {
  const FileContent content = read_text(around(kernel(R"(a\"b\\c\u00e9\ud83d\ude00\/d)", "5", "1")));
  CHECK(names(content) == Names{"first", "a\"b\\c\xc3\xa9\xf0\x9f\x98\x80/d", "last"});
  CHECK(content.findings.empty());
}

TEST_CASE("a quote turned into /\" by the writer is a bare quote") {
  const FileContent content = read_text(around(kernel("a/\"b/\"c", "5", "1")));
  CHECK(names(content) == Names{"first", "a/\"b/\"c", "last"});
}

TEST_CASE("control bytes and raw newlines in strings are replaced") {
  const FileContent content = read_text(around(kernel(std::string("a\nb\x01") + "c", "5", "1")));
  CHECK(names(content) == Names{"first", "a b c", "last"});
  CHECK(count_of(content, "replaced-bytes") == 2);
}

TEST_CASE("bytes that are not UTF-8 are replaced, those that are stay") {
  const FileContent content = read_text(around(kernel("gr\xfc\xdf und \xc3\xbc", "5", "1")));
  CHECK(names(content) == Names{"first", "gr\xef\xbf\xbd\xef\xbf\xbd und \xc3\xbc", "last"});
  CHECK(count_of(content, "replaced-bytes") == 2);
}

TEST_CASE("bare nan, inf and N/A are absent values") {
  const FileContent content = read_text(around(kernel("k", "5", "nan", "\"correlation\": N/A, \"External id\": -inf")));
  REQUIRE(names(content) == Names{"first", "k", "last"});
  CHECK(content.gpu[1].duration_ns == 0);
  CHECK(content.gpu[1].correlation == -1);
  CHECK(content.gpu[1].external_id == -1);
  CHECK(count_of(content, "bare-nan") == 3);
}

TEST_CASE("an event without a usable stamp is dropped and counted") {
  const FileContent content = read_text(around(kernel("k", "NaN", "1")));
  CHECK(names(content) == Names{"first", "last"});
  CHECK(count_of(content, "dropped-event") == 1);
}

TEST_CASE("a cut file keeps its complete events and says where it ends") {
  const std::string whole = trace_of(kFirst + ",\n" + kLast);
  const size_t last = whole.find("\"last\"");
  const FileContent content = read_text(whole.substr(0, last + 20));
  CHECK(names(content) == Names{"first"});
  CHECK(count_of(content, "truncated-file") == 1);
  CHECK(place_of(content, "truncated-file") == static_cast<int64_t>(whole.find(kLast)));
  CHECK(content.kind == ContentKind::rank_trace);
}

TEST_CASE("every cut of a file keeps exactly the events that were complete") {
  const std::string whole = trace_of(kFirst + ",\n" + kLast);
  const size_t first_end = whole.find(kFirst) + kFirst.size(), last_end = whole.find(kLast) + kLast.size();
  for (size_t size = 0; size < whole.size(); size++) {
    const FileContent content = read_any(whole.substr(0, size));
    CAPTURE(size);
    REQUIRE(content.gpu.size() == size_t{size >= first_end} + size_t{size >= last_end});
    if (size > 20) REQUIRE(count_of(content, "truncated-file") == 1);
  }
}

TEST_CASE("a comma behind the last event is no defect, before the bracket or at a cut") {
  const FileContent content = read_text("{\"traceEvents\": [" + kFirst + ",\n" + kLast + ",\n], \"traceName\": \"t\"}");
  CHECK(names(content) == Names{"first", "last"});
  CHECK(content.findings.empty());
  const FileContent cut = read_text("{\"traceEvents\": [" + kFirst + ",\n" + kLast + ",\n");
  CHECK(names(cut) == Names{"first", "last"});
  CHECK(count_of(cut, "truncated-file") == 1);
}

TEST_CASE("a missing brace costs nothing but the count") {
  std::string broken = kernel("broken", "5", "1");
  broken.resize(broken.size() - 1);
  const FileContent content = read_text(around(broken));
  CHECK(names(content) == Names{"first", "broken", "last"});
  CHECK(count_of(content, "mismatched-braces") == 1);
}

TEST_CASE("an operator without its closers does not hide the events behind it, though those of the file balance") {
  const std::string unclosed =
      R"({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 5, "tid": 6, "ts": 2, "dur": 1,
    "args": {"External id": 1)";
  const FileContent content = read_text(around(unclosed));
  CHECK(names(content) == Names{"first", "last"});
}

TEST_CASE("an absent value, of any key, costs that value alone") {
  const std::string whole = R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 20, "ts": 5, "dur": 1, )"
                            R"("args": {"device": 0, "stream": 20, "correlation": 3, "dtype": "Float", )"
                            R"("Collective name": "allreduce", "Process Group Description": "d", )"
                            R"("Process Group Ranks": "[0, 1]", "grid": [1, 2, 3], "Ev Idx": 4}})";
  const std::map<std::string, std::string> values = {{"pid", "0"},
                                                     {"tid", "20"},
                                                     {"dur", "1"},
                                                     {"device", "0"},
                                                     {"stream", "20"},
                                                     {"correlation", "3"},
                                                     {"dtype", "\"Float\""},
                                                     {"Process Group Description", "\"d\""},
                                                     {"Ev Idx", "4"},
                                                     {"grid", "[1, 2, 3]"},
                                                     {"Process Group Ranks", "\"[0, 1]\""}};
  for (const auto& [key, value] : values) {
    for (const std::string& absent : {std::string(), std::string(" ")}) {
      INFO(key << " is absent");
      std::string event = whole;
      const std::string member = "\"" + key + "\": " + value;
      REQUIRE(event.find(member) != std::string::npos);
      event.replace(event.find(member), member.size(), "\"" + key + "\":" + absent);
      const FileContent content = read_text(around(event));
      REQUIRE(names(content) == Names{"first", "k", "last"});
      CHECK(content.gpu[1].start.ns == 5000);
      CHECK(content.gpu[1].correlation == (key == "correlation" ? -1 : 3));
      CHECK(content.gpu[1].duration_ns == (key == "dur" ? 0 : 1000));
      REQUIRE(content.comm_args.size() == 1);
      CHECK(content.comm_args[0].group_description.known() == (key != "Process Group Description"));
      CHECK(count_of(content, "absent-value") == 1);
      CHECK(count_of(content, "dropped-event") == 0);
    }
  }
}

TEST_CASE("an absent value beside the events costs that value alone") {
  const std::string before = R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 4, "pg_config": )"
                             R"([{"pg_name": "0", "pg_desc": , "pg_size": 4, "ranks": [0, 1, 2, 3]},]}, )";
  const FileContent content = read_text(trace_of(kFirst, before));
  CHECK(content.distributed.rank == 3);
  REQUIRE(content.distributed.groups.size() == 1);
  CHECK(content.distributed.groups[0].ranks.size() == 4);
  CHECK(count_of(content, "absent-value") == 1);
  CHECK(count_of(content, "damaged-head") == 0);
}

TEST_CASE("commas behind the last argument, before the first and twice are left out") {
  for (const std::string more :
       {R"("correlation": 3,)", R"("correlation": 3, , "Ev Idx": 4)", R"("a": [1, 2,], "correlation": 3)",
        R"("correlation": 3,, )", R"("correlation": 3, "x": [1, , 2])"}) {
    INFO(more);
    const FileContent content = read_text(around(kernel("k", "5", "1", more)));
    CHECK(names(content) == Names{"first", "k", "last"});
    CHECK(content.gpu[1].correlation == 3);
    const bool inside_a_list = more.find('[') != std::string::npos;  // of which nothing is kept: not looked at
    CHECK((count_of(content, "absent-value") > 0 || inside_a_list));
  }
  std::string behind_event = kernel("k", "5", "1");
  behind_event.insert(behind_event.size() - 1, ",");
  CHECK(names(read_text(around(behind_event))) == Names{"first", "k", "last"});
}

TEST_CASE("words without quotes are a text, whatever they hold") {
  for (const std::string value : {"mesh_dp", "my group", "group \"a\" of 2", "undefined\"", "a: b", "\xc3\xa4 b"}) {
    INFO(value);
    const FileContent content = read_text(around(kernel(
        "k", "5", "1",
        "\"Collective name\": \"allreduce\", \"Process Group Description\": " + value + ", \"correlation\": 3")));
    REQUIRE(names(content) == Names{"first", "k", "last"});
    CHECK(content.gpu[1].correlation == 3);
    CHECK(content.strings.view(content.comm_args[0].group_description) == value);
  }
}

TEST_CASE("of an event that cannot be repaired, what stands whole is read: its time at least") {
  const std::string broken = R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 20, "ts": 5, "dur": 1, )"
                             R"("args": {"device": 0, "stream" 20 "x": }{, "correlation": 3, "bytes": "})";
  const FileContent content = read_text(around(broken + "}"));
  CHECK(names(content) == Names{"first", "k", "last"});
  CHECK(content.gpu[1].duration_ns == 1000);
  CHECK(count_of(content, "dropped-event") == 0);
}

TEST_CASE("a stray closing bracket inside an event is left out") {
  const FileContent content = read_text(around(kernel("k", "5", "1", "\"grid\": [1, 1]], \"correlation\": 3")));
  CHECK(names(content) == Names{"first", "k", "last"});
  CHECK(content.gpu[1].correlation == 3);
  CHECK(count_of(content, "mismatched-braces") == 1);
}

TEST_CASE("text between events is skipped and counted") {
  const FileContent content = read_text(around(kernel("k", "5", "1") + " garbage }"));
  CHECK(names(content) == Names{"first", "k", "last"});
  CHECK(count_of(content, "skipped-bytes") > 0);
}

TEST_CASE("a duplicate argument: the last one counts") {
  const FileContent content = read_text(around(kernel("k", "5", "1", "\"correlation\": 3, \"correlation\": 4")));
  CHECK(content.gpu[1].correlation == 4);
  CHECK(count_of(content, "duplicate-key") == 1);
}

TEST_CASE("two processes that wrote into one file: events are kept, the rank is doubtful") {
  const std::string one = trace_of(kFirst + ",\n" + kLast);
  const size_t middle = one.find("\"last\"");
  const std::string text = one.substr(0, middle) + trace_of(kernel("second", "3", "1")) + one.substr(middle);
  const FileContent content = read_text(text);
  CHECK(names(content)[0] == "first");
  CHECK(names(content)[1] == "second");
  CHECK(count_of(content, "interleaved-files") >= 1);
}

TEST_CASE("of two traces one behind the other the first is kept, with its head and its tail") {
  const auto with_rank = [](const std::string& events, const std::string& rank) {
    return trace_of(events, "", R"(, "distributedInfo": {"rank": )" + rank + R"(, "world_size": 2})");
  };
  const std::string text = with_rank(kFirst, "0") + "\n" + with_rank(kLast, "1");
  for (const size_t chunk_bytes : {64, 1 << 20}) {
    ReadSettings settings;
    settings.chunk_bytes = chunk_bytes;
    const FileContent content = read_text(text, settings);
    CHECK(names(content) == Names{"first"});
    CHECK(content.kind == ContentKind::rank_trace);
    CHECK(content.distributed.rank == 0);
    CHECK(count_of(content, "interleaved-files") >= 1);
    CHECK(count_of(content, "truncated-file") == 0);
  }
}

TEST_CASE("damage in the head or the tail does not cost the events") {
  const FileContent content = read_text(trace_of(
      kFirst, R"("host_name": "no"de", "distributedInfo": {"rank": 4, "backend": nccl}, )", R"(, "INFO": [broken})"));
  CHECK(names(content) == Names{"first"});
  CHECK(count_of(content, "damaged-head") > 0);
}

TEST_CASE("a gap without any event is skipped when a chunk cannot grow over it") {
  ReadSettings small;
  small.chunk_bytes = 256;
  small.largest_chunk_bytes = 4096;
  const std::string gap =
      R"({"ph": "X", "cat": "kernel", "name": ")" + std::string(300000, 'x') + R"(", "ts": 3, "dur": 1})";
  const FileContent content =
      read_text(trace_of(kFirst + ", " + kernel("near", "2", "1") + ",\n" + gap + ",\n" + kLast), small);
  CHECK(names(content) == Names{"first", "near", "last"});
  CHECK(count_of(content, "oversized-event") > 200000);
}

TEST_CASE("a limit on memory stops the reading with an error that says what to do") {
  std::string events = kFirst;
  for (int i = 0; i < 1000; i++) events += ",\n" + kernel("k" + std::to_string(i), "5", "1");
  const TempFile file(trace_of(events));
  MemoryBudget budget(10000);
  const Result<std::vector<FileContent>> result = TraceReaders().read(file.path(), budget);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().kind == ErrorKind::resource_limit);
  CHECK(result.error().message.find("--memory-limit") != std::string::npos);
}

TEST_CASE("text without a single end is read in time that grows with its size alone") {
  const auto repeated = [](const std::string& what, size_t times) {
    std::string text;
    for (size_t i = 0; i < times; i++) text += what;
    return text;
  };
  const auto seconds_to_read = [](const std::string& text) {
    const double begin = test::cpu_seconds();
    CHECK(read_any(text).gpu.empty());
    return test::cpu_seconds() - begin;
  };
  // Each took minutes where the text was looked through again and again: sixteen times as long for four times as much.
  const auto grows_with_size = [&](const auto& text_of) {
    const double once = std::max(seconds_to_read(text_of(1)), 0.1);  // a blink may be a blink of something else
    CHECK(seconds_to_read(text_of(4)) < 8 * once);
  };
  grows_with_size([](size_t times) { return "{" + std::string(times << 23, ' '); });
  grows_with_size([](size_t times) { return std::string(times << 23, ' ') + "{}"; });
  grows_with_size([&](size_t times) { return "{\"traceEvents\":[" + repeated("{\"ph\":\"X\",", times * 50'000); });
  grows_with_size([&](size_t times) { return "{\"traceEvents\":[" + repeated("]{\"ph\":\"X\"}", times * 50'000); });
}

TEST_CASE("events that each close the list are read in time that grows with their number alone") {
  const auto seconds_to_read = [](size_t events) {
    std::string text = "{\"traceEvents\":[";
    for (size_t i = 0; i < events; i++) text += kernel("k", std::to_string(10 * i), "5") + "],";
    const std::string compressed = zstd_compressed(text);
    const double begin = test::cpu_seconds();
    CHECK(read_any(compressed).gpu.size() > events * 99 / 100);  // chunks are cut anywhere there
    return test::cpu_seconds() - begin;
  };
  // All of the file has been read when the first one is kept: room for one more each time took four times as long for
  // twice as many. The least of three is what neighbours on the machine disturb least.
  const auto least = [&](size_t events) {
    return std::min({seconds_to_read(events), seconds_to_read(events), seconds_to_read(events)});
  };
  CHECK(least(100'000) < 3 * least(50'000));
}

TEST_CASE("a named pipe or a device in place of a trace is unreadable, and nobody waits for it") {
  const std::string pipe = (std::filesystem::temp_directory_path() / "skewscope_pipe.json").string();
  std::filesystem::remove(pipe);
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& path : {pipe, std::string("/dev/zero")}) {
    MemoryBudget budget(0);
    const FileContent content = std::move(TraceReaders().read(path, budget).value().front());
    CHECK(content.kind == ContentKind::not_a_trace);
    CHECK(count_of(content, "unreadable-file") == 1);
  }
  CHECK(discover_files({pipe.substr(0, pipe.size() - 6) + "*.json"}).ok());
  std::filesystem::remove(pipe);
}

TEST_CASE("more text behind the events than a chunk holds is read, and nothing of it skipped") {
  std::string groups = R"({"pg_name": "0", "pg_desc": "default_pg", "pg_size": 8, "ranks": []})";
  while (groups.size() < 3 << 20)
    groups += R"(,   {"pg_name": "1", "pg_desc": "a, ], b", "pg_size": 2, "ranks": [0, 1]})";
  const std::string tail = R"(, "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [)" +
                           groups + "]}, \"last\": [" + std::string(3 << 19, ' ') + "1]";
  const FileContent content = read_any(trace_of(kFirst + ",\n" + kLast, "", tail));
  CHECK(names(content) == Names{"first", "last"});
  CHECK(content.distributed.rank == 3);
  CHECK(content.distributed.world_size == 8);
  CHECK(content.distributed.groups.size() > 30'000);
  CHECK(content.findings.empty());
}

TEST_CASE("an integer beyond 64 bits is absent, and the finding says so") {
  const FileContent content = read_text(trace_of(kernel("k", "1", "1", "\"correlation\": 18446744073709551616")));
  REQUIRE(content.gpu.size() == 1);
  CHECK(content.gpu[0].correlation == -1);
  REQUIRE(count_of(content, "bare-nan") == 1);
  CHECK(content.findings.front().message.find("beyond 64 bits") != std::string::npos);
}
