#include <fmt/format.h>

#include "http/client.h"
#include "skewscope/protocol/names.h"
#include "skewscope/ship.h"
#include "start_rules.h"

namespace skewscope {

Result<Done> ask_for_report(const ShipOptions& options) {
  if (auto fine = ship::check_target(options); !fine.ok()) return fine;
  const Result<std::string> base = ship::base_url(options.url, !options.token_file.empty());
  if (!base.ok()) return base.error();
  ship::Pace pace(options.rate_bytes_per_s);
  ship::Client client({base.value(), options.ca_file, options.pin, options.token_file, options.certificate,
                       options.private_key, options.silence, options.rate_bytes_per_s},
                      pace, [] { return true; });
  const ship::Reply reply = client.report_again(options.job);
  if (reply.status / 100 == 2) return Done{};
  const std::string why = reply.detail.empty() ? fmt::format("answered {}", reply.status) : reply.detail;
  return Error{ErrorKind::no_input, fmt::format("{}: {}", base.value(), why)};
}

}  // namespace skewscope
