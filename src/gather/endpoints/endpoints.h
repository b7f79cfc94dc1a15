// The daemon's Service: credentials, and the handler of each endpoint.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>

#include "handlers.h"
#include "hang_figures.h"
#include "metrics.h"
#include "pages.h"
#include "src/gather/history/history.h"
#include "src/gather/http/tokens.h"
#include "straggler_figures.h"
#include "token_desk.h"
#include "user_names.h"

namespace skewscope::gather {

// What SIGHUP exchanges as a whole.
struct Settings {
  GatherOptions options;
  std::optional<TokenKeys> keys;
  std::shared_ptr<const Munge> munge;
};

class Endpoints : public Service {
 public:
  Endpoints(Store& store, const History& history, const std::shared_ptr<const Settings>& settings);

  Admitted admit_caller(const Call& call) override;
  void begin(const CallPointer& call, std::function<void(Next)> next) override;
  bool revoked(const Call& call) const override;
  void served(const Served& served) override;
  std::string user_header() const override { return settings()->options.user_header; }
  Lobby& lobby() override { return lobby_; }
  BufferPool& buffers() override { return buffers_; }
  BufferPool& download_buffers() override { return download_buffers_; }
  FileThreads& readers() override { return readers_; }
  void stop_desk() { desk_.stop(); }
  GatherLimits limits() const override { return settings()->options.limits; }

  // From the next request on; what is connected and open stays.
  void use(const std::shared_ptr<const Settings>& settings);
  void drain() { draining_ = true; }
  std::string name_of_user(uint32_t uid) { return users_.name_when_known(uid); }
  void use_memory(uint64_t bytes);  // so much of it the daemon has at present
  bool ready() const { return !draining_ && store_.healthy(); }
  Metrics& metrics() { return metrics_; }

 private:
  std::shared_ptr<const Settings> settings() const;
  Caller caller_of(const Call& call) const;
  std::optional<UploadMetadata> upload_of(const Request& request) const;
  std::string job_of(const Request& request, const Caller& caller) const;
  std::string why_unauthenticated(const Request& request, const Caller& caller,
                                  const std::optional<JobFacts>& facts) const;
  Response to_browser(Response response) const;
  bool waits_for_names(const Request& request, const Caller& caller) const;
  bool proves_something(const Call& call, const Caller& caller) const;
  Response file_of(const Call& call);
  Next in_turn(const CallPointer& call, std::function<Response()> answer);
  Response page_of(const Call& call) const;
  JobsPage list_of(const Call& call) const;
  Response admin(const Call& call) const;
  ProcessFigures process_figures() const;
  Next login(const CallPointer& call);
  Next token(const CallPointer& call);

  Store& store_;
  const History& history_;
  Lobby lobby_;
  BufferPool buffers_, download_buffers_;
  FileThreads readers_;
  Metrics metrics_;
  mutable StragglerFigures stragglers_;
  mutable HangFigures hangs_;
  UserNames users_;
  TokenDesk desk_;
  mutable std::mutex mutex_;  // of the next two
  std::shared_ptr<const Settings> settings_;
  AnswerPace pace_;
  std::atomic<uint64_t> memory_{0};
  std::atomic<bool> draining_{false}, short_of_memory_{false};
};

}  // namespace skewscope::gather
