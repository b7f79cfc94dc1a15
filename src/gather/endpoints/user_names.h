// Users by uid and by name, as the head node knows them (NSS).
//
// Whom NSS asks may be a directory that is slow or away, and requests are answered on threads of the network: NSS is
// asked on a thread of its own. What it said counts until it says something else; it is asked again after a minute.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace skewscope::gather {

struct NssUser {
  uint32_t uid = 0;
  std::string name;
};
struct NssAnswer {
  bool failed = false;  // the directory cannot be asked at present
  std::optional<NssUser> user;
};
// `key`: a uid in digits, or a name.
NssAnswer ask_nss(const std::string& key);

class UserNames {
 public:
  using Directory = std::function<NssAnswer(const std::string& key)>;
  explicit UserNames(Directory directory = ask_nss, std::chrono::milliseconds patience = std::chrono::seconds(2));

  enum class Known {
    not_yet,  // it was asked just now: look again in some milliseconds
    away,     // it cannot be asked, or has not answered for `patience`
    nobody,
    user
  };
  struct Answer {
    Known known = Known::nobody;
    NssUser user;
  };
  Answer of_uid(uint32_t uid) const;
  Answer of_name(const std::string& name) const;
  // The name alone, waited for up to `patience`; "": nobody's, or not known by then.
  std::string name_when_known(uint32_t uid) const;

 private:
  struct State;
  Answer find(const std::string& key) const;
  std::shared_ptr<State> state_;  // outlives this where NSS hangs: an end of the daemon does not wait for it
};

}  // namespace skewscope::gather
