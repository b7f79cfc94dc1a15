// What the daemon counts, in Prometheus' text format. Names begin with skewscope_gather_; no label names a job or rank.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gate.h"
#include "lobby.h"
#include "store.h"

namespace skewscope::gather {

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
  // A report begins: `jobs` shows of which job, and since when it could have.
  void report_begins(const std::vector<JobState>& jobs);
  void report_ended(int exit_code, double seconds);

  std::string text(const StoreFigures& store, const Lobby::Figures& lobby, const std::vector<JobState>& jobs) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

const char* name_of(Endpoint endpoint);

}  // namespace skewscope::gather
