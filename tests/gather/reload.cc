#include "src/gather/reload.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace skewscope::gather {
namespace {

TEST_CASE("a reload names each option that changed, before and after") {
  GatherOptions before, after;
  CHECK(reload_of(before, after).taken.empty());
  after.limits.largest_file = 1 << 20;
  after.deadlines.after_end = std::chrono::seconds(7);
  after.report_time = std::chrono::seconds(60);
  after.aligned_trace = AlignedTrace::off;
  const Reload changes = reload_of(before, after);
  CHECK(changes.taken ==
        "aligned-trace excerpt -> off, deadline-after-end 120 -> 7, largest-file 17179869184 -> 1048576");
  CHECK(changes.at_start == "report-time 1800 -> 60");
  CHECK(changes.refused.empty());
}

TEST_CASE("a reload names each file of keys or certificates that has other content than before") {
  const skewscope::test::Folder folder("reload");
  std::filesystem::create_directories(folder.path);
  const auto write = [&](const char* name, const char* text) { std::ofstream(folder.path / name) << text; };
  GatherOptions options;
  options.token_key_file = folder.path / "keys";
  options.certificate = folder.path / "head.pem";
  write("keys", "one");
  write("head.pem", "two");
  const NamedFiles before = secrets_of(options);
  CHECK(exchanged(before, secrets_of(options)).empty());
  write("keys", "three");
  CHECK(exchanged(before, secrets_of(options)) == "token-key-file " + options.token_key_file + ": other content");
  write("head.pem", "four");
  options.token_key_file = folder.path / "others";  // which the options tell
  CHECK(exchanged(before, secrets_of(options)) == "certificate " + options.certificate + ": other content");
}

TEST_CASE("where it listens, and whether it speaks TLS there, is for a restart") {
  GatherOptions before, after;
  after.listen = "0.0.0.0:7475";
  after.certificate = "head.pem";
  CHECK(reload_of(before, after).refused == "listen 127.0.0.1:7475 -> 0.0.0.0:7475, certificate  -> head.pem");
  before.certificate = "old.pem";
  before.listen = after.listen;
  CHECK(reload_of(before, after).refused.empty());
  CHECK(reload_of(before, after).taken == "certificate old.pem -> head.pem");
}

}  // namespace
}  // namespace skewscope::gather
