// What is configured: the daemon's --config, and what PUT of a job says.
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "require.h"
#include "src/cli/gathering/gather_options.h"
#include "src/cli/options/flat_config.h"
#include "src/gather/endpoints/job_text.h"
#include "src/gather/reload.h"
#include "src/gather/start_rules.h"

namespace {

using namespace skewscope;

using test::require;

void check_job(const std::string& text) {
  for (const bool registry : {false, true}) {
    const gather::ParsedSettings parsed = gather::parse_job_settings(text, registry);
    if (parsed.problem != nullptr) continue;
    const gather::JobSettings& settings = parsed.settings;
    require(settings.world_size.value_or(1) >= 1 && settings.captures.value_or(1) >= 1);
    require(settings.deadline.value_or(std::chrono::seconds(1)).count() >= 1);
    require(registry || (!settings.owner_uid && settings.nodes.empty()));
    for (const std::string& node : settings.nodes) require(node.find('\n') == std::string::npos);
  }
}

void check_config(const std::string& text) {
  static const int file = memfd_create("config", MFD_CLOEXEC);
  require(ftruncate(file, 0) == 0 && pwrite(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  CLI::App app;
  cli::add_config(app);
  app.fallthrough();
  GatherOptions options;
  cli::add_gather_options(*app.add_subcommand("gather"), options);
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const char* const words[] = {"skewscope", "gather", "--config", path.c_str()};
  try {
    app.parse(4, words);
  } catch (const CLI::ParseError&) {
    return;
  }
  static_cast<void>(gather::check_options(options));
  gather::reload_of(GatherOptions(), options);
  require(options.limits.connections >= 1 && options.limits.bodies >= 1 && options.limits.open_uploads >= 1);
  require(options.limits.upload_life.count() >= 1 && options.report_processes >= 1);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  text.starts_with("{") ? check_job(text) : check_config(text);
  return 0;
}
