// The daemon as a whole: what is started in which order, what signals do, and how it ends.
//
// The process that makes reports is forked first, while there is one thread. The store recovers before anybody is
// listened to. At the end connections go before the store, so that what they hold of it is given back.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "reload.h"
#include "skewscope/base/file_text.h"
#include "src/gather/disk/spool_paths.h"
#include "src/gather/endpoints/endpoints.h"
#include "src/gather/http/connection.h"
#include "src/gather/http/listener.h"
#include "src/gather/process/log.h"
#include "src/gather/process/secret_file.h"
#include "src/gather/process/service_manager.h"
#include "src/gather/reports/reports.h"
#include "start_rules.h"
#include "webhook/webhook.h"

namespace skewscope::gather {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kNetworkThreads = 2;
constexpr int kBeatsOfAlarm = 10;
constexpr const char* kForkerHasEnded = "the process that makes reports has ended: restart the daemon to get another";
constexpr seconds kBeat{1};
constexpr std::array kWays{Way::main, Way::admin, Way::registry, Way::proxy};
constexpr seconds kLastAnswers{2}, kLastFlushes{5}, kLastConnections{1};

sigset_t served_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
  return signals;
}

// 0: none within `time`.
int next_signal(milliseconds time) {
  const sigset_t signals = served_signals();
  const timespec limit{time.count() / 1000, (time.count() % 1000) * 1'000'000};
  return std::max(sigtimedwait(&signals, nullptr, &limit), 0);
}

// Resident, of this process; 0 where the kernel does not tell.
uint64_t memory_in_use() {
  const std::string text = file_text("/proc/self/statm").value_or("");
  const char* resident = std::strchr(text.c_str(), ' ');  // the first number is the address space
  return resident == nullptr ? 0 : std::strtoull(resident, nullptr, 10) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Until `done` or the time is up.
template <class Condition>
bool wait_for(Clock::duration time, const Condition& done) {
  for (const auto end = Clock::now() + time; !done();) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// Unlike a token key it is taken: others than us use it, too, and give it to a group of theirs.
void warn_of_open_key(const GatherOptions& options) {
  if (options.private_key.empty() || !others_may_use(options.private_key)) return;
  log_warning("private_key_open", {{"err", "others can read or write it; chmod 600 " + options.private_key}});
}

// For the listeners of this machine alone, whose connections may all be of one address. On that of metrics nobody says
// who they are: the one that came first goes when another comes.
GatherLimits side_limits(int connections) {
  GatherLimits limits;
  limits.connections = limits.connections_per_address = connections;
  limits.unauthenticated_connections = connections / 2;
  return limits;
}

// Counts what a forker makes.
class CountedForker : public ReportForker {
 public:
  CountedForker(ReportForker& forker, const Store& store, Metrics& metrics)
      : forker_(forker), store_(store), metrics_(metrics) {}

  void run(const ReportTask& task, std::function<void(int)> done) override {
    if (const auto job = store_.job_in_brief(task.job)) metrics_.report_begins(job->last_arrival);
    forker_.run(task, [this, job = task.job, begin = Clock::now(), done = std::move(done)](int exit_code) {
      const std::chrono::duration<double> time = Clock::now() - begin;
      metrics_.report_ended(exit_code, time.count());
      log_info(
          "report",
          {{"job", job}, {"exit_code", int64_t{exit_code}}, {"dur_ms", static_cast<int64_t>(time.count() * 1000)}});
      done(exit_code);
    });
  }
  void stop() override { forker_.stop(); }
  bool alive() const override { return forker_.alive(); }

 private:
  ReportForker& forker_;
  const Store& store_;
  Metrics& metrics_;
};

class Daemon {
 public:
  static Result<Done> serve(const GatherOptions& options, const MakeReport& make_report,
                            const std::function<Result<GatherOptions>()>& reload) {
    if (auto checked = check_options(options); !checked.ok()) return checked;
    auto forker = ReportForker::start(options, make_report);  // before a key is in memory
    if (!forker.ok()) return forker.error();
    auto settings = settings_of(options);
    if (!settings.ok()) return settings.error();
    auto tls = tls_of(options);
    if (!tls.ok()) return tls.error();
    auto target = webhook_target_of(options);
    if (!target.ok()) return target.error();
    warn_of_open_key(options);
    Daemon daemon;
    StoreOptions kept;
    kept.spool = options.spool;
    kept.limits = options.limits;
    kept.retention = options.retention;
    kept.failed = [&daemon](const std::string& why) { daemon.fail(why); };
    if (auto made = make_spool(options.spool); !made.ok()) return made;
    auto store = Store::open(kept);
    if (!store.ok()) return store.error();
    daemon.store_ = std::move(store).value();
    daemon.history_ = History::open(options.spool + "/" + kHistoryName);
    daemon.endpoints_ = std::make_unique<Endpoints>(*daemon.store_, *daemon.history_, settings.value());
    daemon.webhook_ = std::make_unique<Webhook>(
        *daemon.store_, *daemon.history_, [&daemon](uint32_t uid) { return daemon.endpoints_->name_of_user(uid); });
    daemon.network_ = Network::start(kNetworkThreads);
    CountedForker counted(*forker.value(), *daemon.store_, daemon.endpoints_->metrics());
    daemon.forker_ = forker.value().get();
    daemon.scheduler_ = ReportScheduler::start(*daemon.store_, counted, *daemon.history_, options,
                                               [&daemon](const JobState& job) { daemon.webhook_->tell(job); });
    auto listening = daemon.listen(options, tls.value());
    if (listening.ok()) {
      daemon.webhook_->start(target.value(), daemon.base_of_links(options));
      daemon.run(options, reload);
    }
    daemon.drain();
    if (!listening.ok()) return listening;
    if (daemon.failed_) return Error{ErrorKind::resource_limit, "the store failed: " + daemon.why_};
    if (daemon.forker_gone_) return Error{ErrorKind::internal, kForkerHasEnded};
    return Done{};
  }

 private:
  Result<Done> listen(const GatherOptions& options, const std::shared_ptr<TlsContext>& tls) {
    const auto sockets = activated_sockets();
    const auto accept_by = [this](Way way) {
      return [this, way](std::shared_ptr<Wire> wire) {
        Lobby& guests = guests_by(way);
        auto seat = guests.seat(wire->peer());
        if (!seat) return wire->close();
        serve_connection(std::move(wire), way, *endpoints_, guests, std::move(seat));
      };
    };
    const auto may_accept_by = [this](Way way) { return [this, way] { return guests_by(way).may_accept(); }; };
    const bool on_loopback = options.insecure_local || !tls;
    const auto main = network_->listen({options.listen, sockets.empty() ? -1 : sockets[0], on_loopback}, tls,
                                       may_accept_by(Way::main), accept_by(Way::main));
    if (!main.ok()) return main.error();
    const bool admin_here = is_loopback(options.admin);
    const auto admin = network_->listen({options.admin, sockets.size() < 2 ? -1 : sockets[1], admin_here},
                                        admin_here ? nullptr : tls, may_accept_by(Way::admin), accept_by(Way::admin));
    if (!admin.ok()) return admin.error();
    const auto listen_locally = [&](Way way, const std::string& path, const char* flag, const std::string& name) {
      if (path.empty()) return Result<Done>(Done{});
      const auto user = local_user(flag, name);
      if (!user.ok()) return Result<Done>(user.error());
      return network_->listen_locally(path, user.value(), may_accept_by(way), accept_by(way));
    };
    auto local = listen_locally(Way::registry, options.registry_socket, "--registry-user", options.registry_user);
    if (local.ok()) local = listen_locally(Way::proxy, options.proxy_socket, "--proxy-user", options.proxy_user);
    if (!local.ok()) return local;
    address_ = main.value();
    const std::string url = (tls ? "https://" : "http://") + address_;
    const StoreFigures figures = store_->figures();
    const uint64_t jobs = figures.all_jobs, files = figures.files;
    log_info("ready", {{"url", url}, {"admin", admin.value()}, {"files", static_cast<int64_t>(files)}});
    std::printf("skewscope gather: ready on %s (spool %s; jobs: %llu, files: %llu)\n", url.c_str(),
                options.spool.c_str(), static_cast<unsigned long long>(jobs), static_cast<unsigned long long>(files));
    std::fflush(stdout);
    notify_manager("READY=1");
    return Done{};
  }

  // Where others find it.
  std::string base_of_links(const GatherOptions& options) const {
    if (!options.public_url.empty()) return options.public_url.substr(0, options.public_url.find_last_not_of('/') + 1);
    const size_t port = address_.rfind(':');
    const std::string host = options.server_name.empty() ? address_.substr(0, port) : options.server_name;
    return (options.certificate.empty() ? "http://" : "https://") + host + address_.substr(port);
  }

  // Each way has its guests: whoever watches the daemon, the head node's prolog, and users by the proxy get in when
  // nobody else does, and fill no place of the main listener's.
  Lobby& guests_by(Way way) {
    if (way == Way::main) return endpoints_->lobby();
    return way == Way::admin ? admin_guests_ : way == Way::registry ? registry_guests_ : proxy_guests_;
  }
  bool all_have_left() {
    return std::all_of(kWays.begin(), kWays.end(),
                       [this](Way way) { return guests_by(way).figures().connections == 0; });
  }

  // The store cannot vouch for anything any more. From any thread.
  void fail(const std::string& why) {
    if (failed_.exchange(true)) return;
    why_ = why;
    log_error("store_failed", {{"err", why}});
    failure_logged_ = true;
  }

  // The manager hears from us only while each thread of the network and of the store gets on with what it does.
  void show_life() {
    const bool network = network_->advances(), store = store_->advances(), readers = endpoints_->readers().advance();
    if (network && store && readers) {
      notify_manager("WATCHDOG=1");
      beats_missed_ = 0;
    } else if (++beats_missed_ == kBeatsOfAlarm) {
      const char* const files =
          "a thread that works on files has made no progress for some seconds: is the disk there?";
      log_error("stalled", {{"err", network ? files : "a network thread has made no progress for some seconds"}});
    }
  }

  void run(const GatherOptions& options, const std::function<Result<GatherOptions>()>& reload) {
    in_use_ = options;
    files_in_use_ = secrets_of(options);
    for (auto next_beat = Clock::now(); !failure_logged_;) {
      if (Clock::now() >= next_beat) {
        if (forker_gone_ = !forker_->alive(); forker_gone_) {
          log_error("forker_gone", {{"err", kForkerHasEnded}});
          return;
        }
        show_life();
        endpoints_->use_memory(memory_in_use());
        next_beat = Clock::now() + kBeat;
      }
      const int signal = next_signal(kBeat);
      if (signal == SIGHUP) {
        reload_options(reload);
      } else if (signal != 0) {
        log_info("stopping", {{"signal", int64_t{signal}}});
        return;
      }
    }
  }

  // All of it or nothing: certificates, keys, options.
  void reload_options(const std::function<Result<GatherOptions>()>& reload) {
    notify_manager("RELOADING=1");
    const auto refuse = [](const Error& error) {
      log_error("reload_refused", {{"err", error.message}});
      notify_manager("READY=1");
    };
    const auto options = reload();
    if (!options.ok()) return refuse(options.error());
    const Reload changes = reload_of(in_use_, options.value());
    if (!changes.refused.empty()) {
      return refuse({ErrorKind::usage, "this changes only with a restart: " + changes.refused});
    }
    const auto settings = settings_of(options.value());
    if (!settings.ok()) return refuse(settings.error());
    const auto tls = tls_of(options.value());
    if (!tls.ok()) return refuse(tls.error());
    const auto target = webhook_target_of(options.value());
    if (!target.ok()) return refuse(target.error());
    const NamedFiles files = secrets_of(options.value());
    endpoints_->use(settings.value());
    webhook_->use(target.value(), base_of_links(options.value()));
    network_->use_tls(tls.value());
    scheduler_->use(options.value());
    const auto report_time = in_use_.report_time;  // of the process that makes reports
    in_use_ = options.value();
    in_use_.report_time = report_time;
    const std::string other_content = exchanged(std::exchange(files_in_use_, files), files);
    const std::string changed =
        changes.taken + (changes.taken.empty() || other_content.empty() ? "" : ", ") + other_content;
    log_info("reloaded", {{"changed", changed}, {"needs_restart", changes.at_start}});
    warn_of_open_key(options.value());
    notify_manager("READY=1");
  }

  void drain() {
    notify_manager("STOPPING=1");
    network_->stop_accepting();
    webhook_->end();
    endpoints_->drain();
    const auto gone = [this] { return all_have_left(); };
    for (const Way way : kWays) guests_by(way).end_idle();
    if (!failed_) wait_for(kLastAnswers, gone);
    for (const Way way : kWays) guests_by(way).end_all();
    // What they have received and not yet handed over comes before the store closes.
    wait_for(kLastConnections, gone);
    scheduler_.reset();
    auto drained = std::make_shared<std::atomic<bool>>(false);
    store_->drain([drained] { *drained = true; });
    const bool flushed = wait_for(kLastFlushes, [&] { return drained->load(); });
    wait_for(kLastConnections, gone);
    endpoints_->readers().stop();
    endpoints_->stop_desk();
    network_.reset();
    log_info("stopped", {{"flushed", flushed ? "yes" : "no"}});
  }

  std::unique_ptr<Store> store_;
  std::unique_ptr<History> history_;
  std::unique_ptr<Endpoints> endpoints_;
  Lobby admin_guests_{side_limits(64), milliseconds(0)}, registry_guests_{side_limits(64), milliseconds(0)};
  Lobby proxy_guests_{side_limits(1024), milliseconds(0)};
  std::unique_ptr<Webhook> webhook_;
  std::unique_ptr<Network> network_;
  std::string address_;  // that is listened on
  std::unique_ptr<ReportScheduler> scheduler_;
  const ReportForker* forker_ = nullptr;
  bool forker_gone_ = false;
  GatherOptions in_use_;
  NamedFiles files_in_use_;
  int beats_missed_ = 0;
  std::atomic<bool> failed_{false}, failure_logged_{false};
  std::string why_;
};

}  // namespace
}  // namespace skewscope::gather

namespace skewscope {

Result<Done> gather_traces(const GatherOptions& options, const MakeReport& make_report,
                           const std::function<Result<GatherOptions>()>& reload) {
  return gather::Daemon::serve(options, make_report, reload);
}

}  // namespace skewscope
