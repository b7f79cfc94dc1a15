#include "gather_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <vector>

#include "gather_options.h"
#include "gathered_report.h"
#include "skewscope/protocol/names.h"
#include "src/cli/options/flat_config.h"
#include "uid_of_user.h"

namespace skewscope::cli {
namespace {

// The daemon waits for its signals, and what it writes to may be closed.
void keep_signals_for_the_daemon() {
  signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, number);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

// What is opened next would become one that was closed: standard error a socket of reports, or the spool's lock.
void keep_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", O_RDWR);
  }
}

// The options as the command line and the file of --config say at present.
Result<GatherOptions> read_again(const std::vector<std::string>& arguments) {
  CLI::App app;
  add_config(app);
  app.fallthrough();
  GatherCommandOptions options;
  add_gather_command_options(*app.add_subcommand("gather"), options);
  std::vector<const char*> words;
  for (const std::string& word : arguments) words.push_back(word.c_str());
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::ParseError& error) {
    return Error{ErrorKind::usage, error.what()};
  }
  return options.daemon;
}

ExitCode check(const GatherCommandOptions& options) {
  if (options.daemon.spool.empty()) return fail({ErrorKind::usage, "a spool directory is needed: --spool DIR"});
  const auto found = check_spool(options.daemon.spool, options.repair);
  if (!found.ok()) return fail(found.error());
  const SpoolCheck& spool = found.value();
  std::string text;
  for (const std::string& problem : spool.problems) text += problem + "\n";
  for (const std::string& step : spool.to_do) text += (options.repair ? "done: " : "to be done: ") + step + "\n";
  text +=
      fmt::format("{}: jobs: {}, files: {}, open uploads: {}; {}\n", options.daemon.spool, spool.jobs, spool.files,
                  spool.uploads, spool.problems.empty() ? "clean" : fmt::format("problems: {}", spool.problems.size()));
  if (!print(text)) return kOutput;
  return spool.problems.empty() || options.repair ? kDone : kConditionHolds;
}

ExitCode restore(const GatherCommandOptions& options) {
  if (options.daemon.spool.empty()) return fail({ErrorKind::usage, "a spool directory is needed: --spool DIR"});
  const auto restored = restore_job(options.daemon.spool, options.restored_job);
  if (!restored.ok()) return fail(restored.error());
  const std::string text = options.restored_job + " is back; the daemon's next start takes its files up\n";
  return print(text) ? kDone : kOutput;
}

ExitCode mint(const GatherCommandOptions& options) {
  const auto token = mint_token(options.daemon, options.token);
  if (!token.ok()) return fail(token.error());
  return print(token.value() + "\n") ? kDone : kOutput;
}

void mint_for(const std::string& whose, TokenRequest& token) {
  token.job = whose;
  if (!whose.starts_with('@')) return;
  token.uid = uid_of_user("--mint-token", whose.substr(1));
  token.job = "@" + std::to_string(*token.uid);
}

}  // namespace

void add_gather_command_options(CLI::App& command, GatherCommandOptions& options) {
  add_gather_options(command, options.daemon);
  CLI::Option* check = command.add_flag("--check", options.check,
                                        "Say what is wrong with the spool, and what a start has to do; serves nobody");
  command.add_flag("--repair", options.repair, "With --check: put it right, as a start of the daemon does")
      ->needs(check);
  command
      .add_option("--restore", options.restored_job,
                  "Put a deleted job back that is in the trash (--trash-retention), while no daemon has the spool")
      ->type_name("JOB");
  CLI::Option* mint = command
                          .add_option_function<std::string>(
                              "--mint-token", [&options](const std::string& whose) { mint_for(whose, options.token); },
                              "Print a token for this job, or for all jobs of this user, by name or UID; serves nobody")
                          ->type_name("JOB|@USER");
  command.add_option("--scopes", options.token.scopes, "With --mint-token: of upload,read,admin [upload,read]")
      ->delimiter(',')
      ->needs(mint)
      ->type_name("LIST");
  command
      .add_option_function<int64_t>(
          "--life", [&options](const int64_t& seconds) { options.token.life = std::chrono::seconds(seconds); },
          "With --mint-token: how long it counts [86400]")
      ->check(CLI::Range(int64_t{1}, std::chrono::seconds(kLongestTokenLife).count()).description(""))
      ->needs(mint)
      ->type_name("SECONDS");
  command
      .add_option("--epoch", options.token.epoch, "With --mint-token: the job's epoch, after tokens were revoked [0]")
      ->needs(mint)
      ->type_name("N");
  CLI::Option* uid =
      command
          .add_option(
              "--uid", options.token.uid,
              "With --mint-token: whose job it is; what it stores and its reports count for that user [who mints]")
          ->needs(mint)
          ->type_name("UID");
  command
      .add_option_function<std::string>(
          "--owner", [&options](const std::string& name) { options.token.uid = uid_of_user("--owner", name); },
          "With --mint-token: the same, by the user's name")
      ->excludes(uid)
      ->needs(mint)
      ->type_name("NAME");
  command.footer(
      "Examples:\n"
      "  skewscope gather --spool spool --insecure-local\n"
      "  curl -T rank0.json.gz http://127.0.0.1:7475/v1/jobs/run1/ranks/0\n"
      "  skewscope gather --spool spool --listen 0.0.0.0:7475 --certificate c.pem --private-key k.pem \\\n"
      "    --token-key-file keys\n"
      "  skewscope gather --token-key-file keys --mint-token run1 --owner alice\n"
      "  skewscope gather --token-key-file keys --mint-token @alice --scopes read\n"
      "  curl -X POST -H \"Authorization: Bearer $ADMIN\" https://head:7475/v1/jobs/run1/revoke\n"
      "  skewscope gather --spool spool --check\n"
      "POST .../revoke ends every token of the job at once and says the --epoch of those that count from then on; a "
      "new\n"
      "job of a deleted one's name needs tokens of a later epoch, too. An admin's POST /v1/tokens gives the right "
      "one.\n"
      "A user's token counts in the jobs that are his when it is shown, and makes such; it ends by --life or with its "
      "key.\n"
      "SIGTERM ends it without loss; SIGHUP reads the --config, certificates and keys again and logs what has\n"
      "changed; spool, addresses and --report-time change with a restart.\n"
      "Exit codes: 0 done, 1 --check found damage, 2 usage, 3 no usable spool, 5 output, 6 the store failed, "
      "70 internal, or the process that makes reports has ended.");
}

ExitCode run_gather(const GatherCommandOptions& options, const std::vector<std::string>& arguments) {
  if (options.check) return check(options);
  if (!options.restored_job.empty()) return restore(options);
  if (!options.token.job.empty()) return mint(options);
  keep_standard_descriptors();
  keep_signals_for_the_daemon();
  const auto served = gather_traces(options.daemon, make_report, [&arguments] { return read_again(arguments); });
  return served.ok() ? kDone : fail(served.error());
}

}  // namespace skewscope::cli
