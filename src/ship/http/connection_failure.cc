#include "connection_failure.h"

#include <string_view>

namespace skewscope::ship {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// What one side has against the other's certificate; "": it is something else. An alert is the gatherer's: with TLS 1.3
// it comes after the handshake, in place of an answer.
std::string distrust(CURLcode code, std::string_view said, bool has_certificate) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      return contains(said, "subject name") ? "the gatherer's certificate is not for the host of --to"
                                            : "the gatherer's certificate is not trusted (--ca)";
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
      return "the gatherer's public key is not that of --pin";
    case CURLE_SSL_CACERT_BADFILE:
      return "the file of --ca cannot be used";
    case CURLE_SSL_CERTPROBLEM:
      return "the files of --cert and --key cannot be used";
    default:
      break;
  }
  const bool alert = contains(said, " alert ") && (contains(said, "certificate") || contains(said, "unknown ca"));
  if (!alert) return "";
  return has_certificate ? "the gatherer does not accept the certificate of --cert"
                         : "the gatherer requires a client certificate (--cert, --key)";
}

}  // namespace

Reply failure_of(CURLcode code, const std::string& said, bool encrypted, bool has_certificate) {
  Reply failure;
  const std::string distrusted = distrust(code, said, has_certificate);
  failure.untrusted = !distrusted.empty();
  failure.detail = failure.untrusted ? distrusted + ": " + said : said;
  if (code == CURLE_GOT_NOTHING && !encrypted) failure.detail += " (does it speak https?)";
  if (contains(said, "wrong version number")) failure.detail += " (does it speak http?)";
  return failure;
}

}  // namespace skewscope::ship
