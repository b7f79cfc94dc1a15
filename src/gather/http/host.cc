#include "host.h"

#include <string>

#include "gate.h"
#include "listener.h"

namespace skewscope::gather {
namespace {

std::string_view without_port(std::string_view host) {
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos;
  return has_port ? host.substr(0, colon) : host;
}

bool is_this_machine(std::string_view name) {
  return name.empty() || same_ignoring_case(name, "localhost") || is_loopback(std::string(name) + ":0");
}

bool is_server_name(std::string_view name, const GatherOptions& options) {
  return !options.server_name.empty() && same_ignoring_case(name, options.server_name);
}

}  // namespace

bool is_our_host(std::string_view host, const GatherOptions& options) {
  const std::string_view name = without_port(host);
  if (options.server_name.empty()) return !options.insecure_local || is_this_machine(name);
  return is_server_name(name, options) || same_ignoring_case(name, without_port(options.listen));
}

bool is_our_admin_host(std::string_view host, const GatherOptions& options) {
  const std::string_view name = without_port(host);
  return !is_loopback(options.admin) || is_this_machine(name) || is_server_name(name, options);
}

bool is_our_page(std::string_view origin, std::string_view host) {
  if (origin.empty()) return true;
  const size_t scheme = origin.find("://");
  return scheme != std::string_view::npos && same_ignoring_case(origin.substr(scheme + 3), host);
}

}  // namespace skewscope::gather
