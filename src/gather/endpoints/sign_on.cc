#include "sign_on.h"

#include <algorithm>

#include "pages.h"
#include "src/gather/http/authorize.h"

namespace skewscope::gather {
namespace {

Response not_let_in(const Request& request, int status, const char* why) {
  return is_page(request.endpoint, request.suffix) ? refusal_page(status, why, request.user) : problem(status, why);
}

}  // namespace

std::string user_named(const std::string& field, const std::string& domain) {
  const size_t at = domain.empty() ? std::string::npos : field.rfind('@');
  if (at == std::string::npos) return field;
  return same_ignoring_case(std::string_view(field).substr(at + 1), domain) ? field.substr(0, at) : "";
}

Admitted signed_on(const Call& call, const GatherOptions& options, const UserNames& users) {
  const Request& request = call.request;
  if (request.user.empty()) return not_let_in(request, 403, "The proxy names no user.");
  const std::string name = user_named(request.user, options.user_domain);
  const UserNames::Answer found = users.of_name(name);
  if (found.known == UserNames::Known::not_yet) return NotKnownYet{};
  if (found.known == UserNames::Known::away) {
    return not_let_in(request, 503, "The directory of users does not answer at present.");
  }
  const bool is_user = found.known == UserNames::Known::user && owns_jobs(found.user.uid);
  if (!is_user) return not_let_in(request, 403, "You are signed in, but as nobody who has jobs on this cluster.");
  const auto& operators = options.operators;
  Caller caller;
  caller.token =
      payload_of_signed_on(found.user.uid, std::find(operators.begin(), operators.end(), name) != operators.end());
  return caller;
}

}  // namespace skewscope::gather
