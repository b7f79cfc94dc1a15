// Names of users by uid, as the head node knows them (NSS).
//
// Whom NSS asks may be a directory that is slow or away, and pages are made on threads of the network: the names come
// from a thread of their own, and a page shows those that are there by then.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace skewscope::gather {

class UserNames {
 public:
  UserNames();
  // "": not known, or not within `patience`. A uid that has no name is not asked for again.
  std::string name_of(uint32_t uid, std::chrono::milliseconds patience = std::chrono::milliseconds(0));

 private:
  struct State;
  std::shared_ptr<State> state_;  // outlives this where NSS hangs: an end of the daemon does not wait for it
};

}  // namespace skewscope::gather
