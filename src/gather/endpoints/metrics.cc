#include "metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "src/gather/process/log.h"

namespace skewscope::gather {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

const prometheus::Histogram::BucketBoundaries kSeconds{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 600};

// Bounds for reports, whose deadlines and --report-time are minutes and hours.
const prometheus::Histogram::BucketBoundaries kReportSeconds{1,   2.5,  5,    10,   30,   60,    120,   300,
                                                             600, 1200, 1800, 3600, 7200, 14400, 28800, 86400};

std::string full(const char* name) { return std::string("skewscope_gather_") + name; }

// Figures that others count: a family of one value per label.
class Snapshot {
 public:
  void counter(const char* name, const char* help, double value) { add(name, help, MetricType::Counter, {}, value); }
  void gauge(const char* name, const char* help, double value) { add(name, help, MetricType::Gauge, {}, value); }
  void gauge(const char* name, const char* help, const char* label, const std::string& which, double value) {
    add(name, help, MetricType::Gauge, {{label, which}}, value);
  }
  void counter(const char* name, const char* help, const char* label, const std::string& which, double value) {
    add(name, help, MetricType::Counter, {{label, which}}, value);
  }
  void summary(const char* name, const char* help, double sum, uint64_t count) {
    ClientMetric& metric = add(name, help, MetricType::Summary, {}, 0);
    metric.summary.sample_count = count;
    metric.summary.sample_sum = sum;
  }
  std::vector<MetricFamily> take() { return std::move(families_); }

 private:
  ClientMetric& add(const char* name, const char* help, MetricType type, Labels labels, double value) {
    if (families_.empty() || families_.back().name != full(name)) {
      families_.push_back({full(name), help, type, {}});
    }
    ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = value;
    metric.gauge.value = value;
    families_.back().metric.push_back(std::move(metric));
    return families_.back().metric.back();
  }

  std::vector<MetricFamily> families_;
};

void add_store(Snapshot& to, const StoreFigures& store) {
  to.counter("received_bytes_total", "Bytes of bodies handed to the store", static_cast<double>(store.received_bytes));
  to.counter("durable_bytes_total", "Bytes that survive a power loss", static_cast<double>(store.durable_bytes));
  to.gauge("uploads", "Uploads by state", "state", "open", static_cast<double>(store.open_uploads));
  to.counter("commits_total", "Files committed", "result", "complete", static_cast<double>(store.commits));
  to.counter("checksum_failures_total", "Bodies or files whose digest was not the promised one",
             static_cast<double>(store.checksum_failures));
  to.counter("quarantined_total", "Files moved to quarantine", "reason", "any", static_cast<double>(store.quarantined));
  to.gauge("quarantine_files", "Files in quarantine", static_cast<double>(store.quarantine_files));
  to.gauge("quarantine_bytes", "Bytes of the files in quarantine", static_cast<double>(store.quarantine_bytes));
  to.counter("quarantine_deleted_total", "Files that left quarantine because they were old or too many",
             static_cast<double>(store.quarantine_deleted));
  to.counter("jobs_deleted_total", "Jobs that retention deleted", static_cast<double>(store.jobs_deleted));
  to.counter("lost_files_total", "Files with a row and without bytes: always 0, else an alarm",
             static_cast<double>(store.lost_files));
  to.summary("fsync_duration_seconds", "Time of flushes to the disk", store.flush_seconds, store.flushes);
  to.gauge("recovery_duration_seconds", "Time that the last start needed to recover", store.recovery_seconds);
  to.gauge("disk_free_bytes", "Free bytes of the spool's file system", static_cast<double>(store.disk_free_bytes));
  to.gauge("disk_size_bytes", "Bytes of the spool's file system", static_cast<double>(store.disk_size_bytes));
}

void add_lobby(Snapshot& to, const Lobby::Figures& lobby) {
  const char* help = "Open connections by state";
  to.gauge("connections", help, "state", "open", lobby.connections);
  to.gauge("connections", help, "state", "unauthenticated", lobby.unauthenticated);
  to.gauge("connections", help, "state", "body", lobby.bodies);
}

void add_process(Snapshot& to, const ProcessFigures& process) {
  to.gauge("ready", "1: uploads are taken", process.ready ? 1 : 0);
  to.gauge("disk_limit_ratio", "Share of the disk in use from which this is refused", "refuses", "new_jobs",
           process.soft_disk);
  to.gauge("disk_limit_ratio", "Share of the disk in use from which this is refused", "refuses", "uploads",
           process.hard_disk);
  to.gauge("resident_memory_bytes", "Memory of the daemon", static_cast<double>(process.memory));
  to.gauge("memory_limit_bytes", "Memory from which no body is taken", static_cast<double>(process.memory_limit));
  to.gauge("open_descriptors", "Open file descriptors", static_cast<double>(process.descriptors));
  to.gauge("descriptor_limit", "Most open file descriptors", static_cast<double>(process.descriptor_limit));
  if (process.certificate_end) {
    to.gauge("certificate_end_seconds", "When the certificate ends, Unix time",
             static_cast<double>(process.certificate_end->time_since_epoch().count()));
  }
}

void add_jobs(Snapshot& to, const JobCounts& jobs) {
  const char* help = "Jobs that have sent something, by state";
  to.gauge("jobs", help, "state", "receiving", static_cast<double>(jobs.receiving));
  to.gauge("jobs", help, "state", "complete", static_cast<double>(jobs.complete));
  to.gauge("jobs", help, "state", "ended", static_cast<double>(jobs.ended));
  to.gauge("ranks_expected", "Ranks that these jobs expect", static_cast<double>(jobs.files_expected));
  to.gauge("ranks_arrived", "Ranks that have arrived", static_cast<double>(jobs.ranks_arrived));
}

}  // namespace

struct Metrics::State {
  using Counters = prometheus::Family<prometheus::Counter>;
  prometheus::Registry registry;
  Counters& requests =
      prometheus::BuildCounter().Name(full("http_requests_total")).Help("Requests answered").Register(registry);
  Counters& refusals =
      prometheus::BuildCounter().Name(full("refused_total")).Help("Requests refused, by reason").Register(registry);
  Counters& failures =
      prometheus::BuildCounter().Name(full("auth_failures_total")).Help("Failed authentications").Register(registry);
  Counters& reports =
      prometheus::BuildCounter().Name(full("reports_total")).Help("Reports made, by result").Register(registry);
  prometheus::Histogram& seconds = prometheus::BuildHistogram()
                                       .Name(full("http_request_duration_seconds"))
                                       .Help("From the end of a request's head to its answer")
                                       .Register(registry)
                                       .Add({}, kSeconds);
  prometheus::Histogram& report_seconds = prometheus::BuildHistogram()
                                              .Name(full("report_duration_seconds"))
                                              .Help("Time that a report took")
                                              .Register(registry)
                                              .Add({}, kReportSeconds);
  prometheus::Histogram& report_lag = prometheus::BuildHistogram()
                                          .Name(full("report_lag_seconds"))
                                          .Help("From a job's last file to the beginning of its report")
                                          .Register(registry)
                                          .Add({}, kReportSeconds);
};

Metrics::Metrics() : state_(std::make_unique<State>()) {
  prometheus::BuildGauge()
      .Name(full("build_info"))
      .Help("1, with the version as label")
      .Register(state_->registry)
      .Add({{"version", SKEWSCOPE_VERSION}})
      .Set(1);
  // From 0 on: of a counter that begins at 1 nobody sees the first increase.
  for (const char* result : {"made", "failed"}) state_->reports.Add({{"result", result}});
}

Metrics::~Metrics() = default;

void Metrics::request(Endpoint endpoint, int status, double seconds) {
  state_->requests.Add({{"route", name_of(endpoint)}, {"code", std::to_string(status)}}).Increment();
  state_->seconds.Observe(seconds);
}

void Metrics::request_not_understood(int status) {
  state_->requests.Add({{"route", "none"}, {"code", std::to_string(status)}}).Increment();
}

void Metrics::refused(const char* reason) { state_->refusals.Add({{"reason", reason}}).Increment(); }

void Metrics::authentication_failed(const char* kind) { state_->failures.Add({{"kind", kind}}).Increment(); }

void Metrics::report_begins(Time last_arrival) {
  const std::chrono::duration<double> lag = std::chrono::system_clock::now() - last_arrival;
  state_->report_lag.Observe(std::max(lag.count(), 0.0));
}

void Metrics::report_ended(int exit_code, double seconds) {
  state_->report_seconds.Observe(seconds);
  state_->reports.Add({{"result", exit_code == 0 || exit_code == 1 || exit_code == kReportInPart ? "made" : "failed"}})
      .Increment();
}

std::string Metrics::text(const StoreFigures& store, const Lobby::Figures& lobby, const ProcessFigures& process) const {
  Snapshot snapshot;
  add_store(snapshot, store);
  add_lobby(snapshot, lobby);
  add_process(snapshot, process);
  add_jobs(snapshot, store.jobs);
  snapshot.counter("log_lines_left_out_total", "Lines of the log that nobody took",
                   static_cast<double>(log_lines_left_out()));
  std::vector<MetricFamily> families = state_->registry.Collect();
  for (MetricFamily& family : snapshot.take()) families.push_back(std::move(family));
  return prometheus::TextSerializer().Serialize(families);
}

const char* name_of(Endpoint endpoint) {
  constexpr const char* kNames[] = {
      "upload_options", "tokens",     "job_put",       "job_list",    "job_get",      "job_delete",    "job_end",
      "report_again",   "job_revoke", "upload_create", "upload_head", "upload_patch", "upload_delete", "rank_put",
      "rank_get",       "report",     "report_file",   "nodes",       "history",      "login",         "logout",
      "page_jobs",      "page_job",   "page_nodes",    "metrics",     "healthy",      "ready"};
  static_assert(std::size(kNames) == static_cast<size_t>(Endpoint::ready) + 1);
  return kNames[static_cast<size_t>(endpoint)];
}

}  // namespace skewscope::gather
