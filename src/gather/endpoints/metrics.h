// What the daemon counts, in Prometheus' text format. Names begin with skewscope_gather_; no label of these names a job
// or rank; those of straggler_figures do.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gather/http/gate.h"
#include "src/gather/http/lobby.h"
#include "src/gather/kept/store.h"

namespace skewscope::gather {

struct ProcessFigures {
  bool ready = false;
  double soft_disk = 0, hard_disk = 0;
  uint64_t memory = 0, memory_limit = 0;
  int64_t descriptors = 0, descriptor_limit = 0;
  std::optional<Time> certificate_end;
};

class Metrics {
 public:
  Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  void request(Endpoint endpoint, int status, double seconds);
  void request_not_understood(int status);
  void refused(const char* reason);
  void authentication_failed(const char* kind);
  // A job, whose last file came then, has its report.
  void report_begins(Time last_arrival);
  void report_ended(int exit_code, double seconds);

  std::string text(const StoreFigures& store, const Lobby::Figures& lobby, const ProcessFigures& process) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

const char* name_of(Endpoint endpoint);

}  // namespace skewscope::gather
