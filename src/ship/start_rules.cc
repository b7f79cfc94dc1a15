#include "start_rules.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "http/client.h"
#include "scan.h"
#include "skewscope/base/named_host.h"
#include "skewscope/base/printable.h"
#include "skewscope/ingest.h"
#include "skewscope/ingest/whole_trace.h"
#include "skewscope/protocol/names.h"

namespace skewscope::ship {
namespace {

namespace fs = std::filesystem;

Error misuse(std::string message) { return {ErrorKind::usage, std::move(message)}; }

void warn(const ShipOptions& options, const std::string& line) {
  if (options.say) options.say(Severity::warning, printable(line));
}

// Who makes a folder first in a folder that others use, or a link there to another, says what is deleted.
Result<Done> check_sources(const ShipOptions& options) {
  for (const std::string& path : options.paths) {
    struct stat status {};
    if (!options.delete_source || lstat(path.c_str(), &status) != 0) continue;
    if (S_ISLNK(status.st_mode))
      return misuse(path + " is a symbolic link: with --delete-source name the folder itself");
    if (S_ISDIR(status.st_mode) && status.st_uid != geteuid()) {
      return misuse(path + " belongs to another user, who may exchange its files: not with --delete-source");
    }
  }
  return Done{};
}

Result<Done> check_certificate(const GathererConnection& options) {
  if (options.certificate.empty()) {
    return options.private_key.empty() ? Result<Done>(Done{}) : misuse("--key needs --cert");
  }
  if (options.url.starts_with("http://")) return misuse("--cert needs https");
  const std::string& key = options.private_key.empty() ? options.certificate : options.private_key;
  for (const std::string& file : {options.certificate, key}) {
    if (access(file.c_str(), R_OK) != 0) return misuse(file + ": " + std::strerror(errno));
  }
  return Done{};
}

void warn_of_readable_key(const ShipOptions& options) {
  const std::string& key = options.private_key.empty() ? options.certificate : options.private_key;
  struct stat status {};
  if (!key.empty() && stat(key.c_str(), &status) == 0 && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    warn(options, key + ": others can read this private key: chmod 600");
  }
}

}  // namespace

Result<Done> check_connection(const GathererConnection& options) {
  if (options.silence.count() < 1) return misuse("--timeout is at least 1");
  if (!options.pin.empty() && !is_pin(options.pin)) {
    return misuse("--pin is sha256// and the base64 of a public key's SHA-256, as curl's --pinnedpubkey has it");
  }
  if (!options.pin.empty() && options.url.starts_with("http://")) return misuse("--pin needs https");
  return check_certificate(options);
}

Result<Done> check_options(const ShipOptions& options) {
  if (options.paths.empty() && options.dumps.empty()) return misuse("no path to send from");
  if (!is_name(options.job)) {
    return misuse(fmt::format("'{}' is not a job name: use letters, digits, '.', '_', '-', at most {}", options.job,
                              kLongestName));
  }
  if (auto fine = check_connection(options); !fine.ok()) return fine.error();
  warn_of_readable_key(options);
  if (!options.host.empty() && !is_host_name(options.host)) {
    return misuse(fmt::format("--host {} is no name of a machine", options.host));
  }
  if (options.world_size && (*options.world_size < 1 || *options.world_size > kMostRanks)) {
    return misuse(fmt::format("--world-size {} is not a number of ranks", *options.world_size));
  }
  if (options.capture < 0 || options.capture > kMostCaptures) return misuse("--capture is 0 to 9999");
  if (options.uploads < 1 || options.uploads > 16) return misuse("--uploads is 1 to 16");
  if (options.piece_bytes == 0) return misuse("--piece is at least 1");
  if (options.cpu_percent < 0) return misuse("--cpu is a share of a processor in percent");
  if (auto fine = check_sources(options); !fine.ok()) return fine.error();
  if (auto fine = check_rank_regex(options.rank_regex); !fine.ok()) return fine.error();
  if (options.digest && options.delete_source)
    return misuse("--delete-source would lose traces, because --digest sends only a part of them");
  for (const std::string& path : options.paths) {
    std::vector<Error> unlisted;  // is said when it is shipped
    const auto found = discover_files({path}, alone(), &unlisted);
    std::error_code failed;
    if (!found.ok() && !fs::is_directory(path, failed)) return found.error();
  }
  return Done{};
}

Result<std::string> make_state_directory(const ShipOptions& options) {
  const std::string first = options.paths.empty() ? folder_of_dumps(options.dumps) : folders_of(options.paths).front();
  const std::string directory = options.state_directory.empty() ? first + "/.skewscope-ship" : options.state_directory;
  std::error_code failed;
  for (const char* part : {"/items", "/held", "/digests"}) {
    if (!failed) fs::create_directories(directory + part, failed);
  }
  if (!failed) fs::permissions(directory, fs::perms::owner_all, failed);
  if (!failed && access((directory + "/items").c_str(), W_OK) == 0) return directory;
  if (options.digest) return Error{ErrorKind::output, directory + ": cannot be made or written, and --digest needs it"};
  warn(options, directory + " cannot be made or written: after a restart files are sent again (--state)");
  return std::string();
}

}  // namespace skewscope::ship
