#include "gatherer_connection.h"

#include <fmt/format.h>

namespace skewscope::cli {
namespace {

constexpr int64_t kLongestSilence_s = int64_t{365} * 24 * 3600;

}  // namespace

void add_connection_options(CLI::App& command, GathererConnection& connection) {
  command
      .add_option("--to", connection.url,
                  "The gatherer, as http(s)://HOST:PORT, or unix:PATH, the socket of its --registry-socket")
      ->required()
      ->type_name("URL");
  command.add_option("--token-file", connection.token_file, "File with a token, readable by its owner alone")
      ->type_name("FILE");
  command.add_option("--ca", connection.ca_file, "Certificates to trust, PEM; default: the system's")
      ->type_name("FILE");
  command.add_option("--cert", connection.certificate, "Certificate to show, PEM, for a gatherer with --client-ca")
      ->type_name("FILE");
  command.add_option("--key", connection.private_key, "Its private key, PEM; default: in the same file")
      ->type_name("FILE");
  command.add_option("--pin", connection.pin, "Public key that the gatherer must have, too, as curl's --pinnedpubkey")
      ->type_name("sha256//BASE64");
  command
      .add_option_function<int64_t>(
          "--timeout", [&connection](const int64_t& seconds) { connection.silence = std::chrono::seconds(seconds); },
          fmt::format("A gatherer silent for so long has failed [{}]", connection.silence.count()))
      ->check(CLI::Range(int64_t{1}, kLongestSilence_s).description(""))
      ->type_name("SECONDS");
}

Result<std::string> body_of(GathererClient& client, const std::string& method, const std::string& path) {
  Result<GathererAnswer> answer = client.ask(method, path);
  if (!answer.ok()) return answer.error();
  if (answer.value().done()) return std::move(answer.value().body);
  return Error{ErrorKind::no_input, fmt::format("{}: {}", client.base(), answer.value().detail)};
}

}  // namespace skewscope::cli
