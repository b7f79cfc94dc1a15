// libcurl asks where its own distribution keeps authorities. The relocatable tarball (scripts/make_tarball) carries
// Debian's libcurl to systems that keep them elsewhere.
#include "authorities.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace skewscope {
namespace {

// As in crypto/x509 of Go, root_linux.go.
constexpr std::array<const char*, 6> kPlaces = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Ubuntu, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",                   // Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",                             // openSUSE, SLES
    "/var/lib/ca-certificates/ca-bundle.pem",             // SLES
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL, without links to it
    "/etc/ssl/cert.pem",                                  // Alpine
};

}  // namespace

std::string system_authorities() {
  if (const char* chosen = std::getenv("SSL_CERT_FILE"); chosen != nullptr && *chosen != '\0') return chosen;
  for (const char* place : kPlaces) {
    if (access(place, R_OK) == 0) return place;
  }
  return "";
}

}  // namespace skewscope
