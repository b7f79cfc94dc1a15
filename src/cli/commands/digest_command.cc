#include "digest_command.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "skewscope/base/printable.h"
#include "skewscope/ingest/make_digests.h"

namespace skewscope::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const DigestsMade& made, const std::string& directory) {
  const auto digests = static_cast<double>(made.digest_bytes), traces = static_cast<double>(made.trace_bytes);
  std::string text = fmt::format("{} digest{} in {}: {:.3g} MB for {:.3g} MB of traces ({:.3g} %)\n", made.files,
                                 made.files == 1 ? "" : "s", printable(directory), digests / 1e6, traces / 1e6,
                                 traces > 0 ? 100 * digests / traces : 0);
  if (made.traces < made.files) {
    const int64_t foreign = made.files - made.traces;
    text += fmt::format("{} of the files {} no rank's trace; reports say so\n", foreign, foreign == 1 ? "is" : "are");
  }
  return text;
}

std::string json_of(const DigestsMade& made, const std::string& directory) {
  const Json json = {
      {"schema", "skewscope.digest/1"}, {"directory", directory},          {"files", made.files},
      {"traces", made.traces},          {"trace_bytes", made.trace_bytes}, {"digest_bytes", made.digest_bytes},
      {"unreadable", made.unreadable}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

void add_digest_options(CLI::App& command, DigestOptions& options) {
  command.add_option("FILE", options.paths, "Traces: files, directories, or patterns in quotes")
      ->required()
      ->type_name("");
  command.add_option("-o,--output", options.directory, "Folder for the digests; it may hold others")
      ->required()
      ->type_name("DIR");
  command.add_flag("--force", options.force, "Replace digests of the same name");
  command.add_flag("--json", options.json, "Print JSON instead of the text");
  add_kernels_option(command, options.ingest);
  add_memory_limit(command, options.ingest);
  add_common_options(command, options.common);
  command.footer(
      "Example:\n"
      "  skewscope digest traces/ -o digests && skewscope report digests/\n"
      "The report is that of the traces, byte for byte, at a few percent of their size.");
}

ExitCode run_digest(const DigestOptions& options) {
  const auto files = discover_files(options.paths);
  if (!files.ok()) return fail(files.error());
  const auto made = make_digests(files.value(), options.directory, options.force, options.ingest);
  if (!made.ok()) return fail(made.error());
  for (const std::string& file : made.value().unreadable) {
    spdlog::warn("{} cannot be read and has no digest", printable(file));
  }
  const std::string text =
      options.json ? json_of(made.value(), options.directory) : text_of(made.value(), options.directory);
  const bool shown = (options.common.quiet && !options.json) || print(text);
  if (!shown) return fail({ErrorKind::output, "cannot write to standard output"});
  if (made.value().traces > 0) return kDone;
  const std::string& foreign = made.value().foreign;
  return fail({ErrorKind::no_input, "none of the files is a rank's trace" + (foreign.empty() ? "" : "; " + foreign)});
}

}  // namespace skewscope::cli
