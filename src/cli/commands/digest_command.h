// skewscope digest: per-rank extracts that represent the traces in every other command.
#pragma once

#include "src/cli/options/common_options.h"
#include "src/cli/process/exit_code.h"

namespace skewscope::cli {

struct DigestOptions {
  std::vector<std::string> paths;
  std::string directory;
  bool force = false;
  bool json = false;
  IngestOptions ingest;
  CommonOptions common;
};

void add_digest_options(CLI::App& command, DigestOptions& options);
ExitCode run_digest(const DigestOptions& options);

}  // namespace skewscope::cli
