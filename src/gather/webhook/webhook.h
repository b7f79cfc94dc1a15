// Tells a receiver elsewhere of each report that has ended: kept in history.sqlite before it is sent, so that neither a
// restart nor a receiver that is away loses one; sent by a thread of its own, so that no receiver holds anybody else.
//
// A message is sent until an answer 2xx comes, after growing pauses, for --webhook-give-up at most; 410 ends it at
// once. A kill between an answer and its note sends it twice, with the same id: at least once is what is promised. Of a
// job there is one message for each of its reports, at most.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "message.h"
#include "target.h"

namespace skewscope::gather {

// The pause after so many failed tries, for `random` from 0 to 1: half of it to all of 1, 2, 4 ... seconds, fifteen
// minutes at most.
std::chrono::seconds pause_after(int tries, double random);
constexpr std::chrono::seconds kLongestPause{15 * 60};

class Webhook {
 public:
  // `name_of`: a user's; it may take a second.
  Webhook(const Store& store, History& history, std::function<std::string(uint32_t)> name_of);
  ~Webhook();  // ends what is under way; it is sent again after the next start
  Webhook(const Webhook&) = delete;
  Webhook& operator=(const Webhook&) = delete;

  // First of reports that ended and were not told of before this start. `base`: of links.
  void start(const std::shared_ptr<const WebhookTarget>& target, const std::string& base);
  void use(const std::shared_ptr<const WebhookTarget>& target, const std::string& base);
  // A report of the job has ended.
  void tell(const JobState& job);
  void end();  // starts no more, and ends what is under way soon

 private:
  struct Settings {
    std::shared_ptr<const WebhookTarget> target;
    std::string base;
  };
  Settings settings() const;
  bool ends() const;
  void work(Time since);
  void tell_what_was_missed(Time since);
  bool deliver(const Delivery& delivery, const WebhookTarget& target);
  void note_receiver(bool answers, const WebhookTarget& target, const std::string& why);

  const Store& store_;
  History& history_;
  std::function<std::string(uint32_t)> name_of_;
  bool answers_ = true;       // what the log was told of the receiver
  mutable std::mutex mutex_;  // of the next two
  Settings settings_;
  bool ends_ = false;
  std::condition_variable wake_;
  std::thread thread_;
};

}  // namespace skewscope::gather
