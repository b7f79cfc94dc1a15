#include "src/gather/http/host.h"

#include <catch2/catch.hpp>

namespace skewscope::gather {
namespace {

TEST_CASE("where nobody is asked for a credential only names of this machine are answered") {
  GatherOptions options;
  options.insecure_local = true;
  for (const char* host : {"localhost", "LOCALHOST:7475", "localhost:1", "127.0.0.1", "127.0.0.1:7475", "127.1.2.3:80",
                           "[::1]", "[::1]:7475", ""}) {
    INFO(host);
    CHECK(is_our_host(host, options));
  }
  for (const char* host :
       {"evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example:7475", "localhost.",
        "128.0.0.1", "127.0.0.1.", "127.1", "2130706433", "0177.0.0.1", "0.0.0.0", "[::]", "[2001:db8::1]:80", "x"}) {
    INFO(host);
    CHECK_FALSE(is_our_host(host, options));
    CHECK_FALSE(is_our_admin_host(host, options));
  }
}

TEST_CASE("where a credential is asked for any host is answered, unless the server has a name") {
  GatherOptions options;
  options.listen = "10.0.0.1:7475";
  CHECK(is_our_host("anything.example:80", options));
  options.server_name = "head";
  CHECK(is_our_host("HEAD:443", options));
  CHECK(is_our_host("10.0.0.1", options));
  CHECK(is_our_host("10.0.0.1:7475", options));
  CHECK_FALSE(is_our_host("anything.example:80", options));
  CHECK_FALSE(is_our_host("localhost", options));
  CHECK_FALSE(is_our_host("", options));
}

TEST_CASE(
    "metrics and health are told to this machine's names and to the server's, whatever the main listener asks for") {
  GatherOptions options;
  for (const char* host : {"localhost:7476", "127.0.0.1:7476", "[::1]:7476", ""})
    CHECK(is_our_admin_host(host, options));
  CHECK_FALSE(is_our_admin_host("head", options));
  CHECK_FALSE(is_our_admin_host("evil.example", options));
  options.server_name = "head";
  CHECK(is_our_admin_host("head:7476", options));
  CHECK_FALSE(is_our_admin_host("evil.example", options));
  options.admin = "0.0.0.0:7476";
  CHECK(is_our_admin_host("10.1.2.3:7476", options));
}

TEST_CASE("a request comes from a page of this server, or from none") {
  CHECK(is_our_page("", "localhost:7475"));
  CHECK(is_our_page("http://localhost:7475", "LocalHost:7475"));
  for (const char* origin :
       {"null", "http://evil.example", "http://localhost", "http://localhost:8080", "localhost:7475"}) {
    INFO(origin);
    CHECK_FALSE(is_our_page(origin, "localhost:7475"));
  }
}

}  // namespace
}  // namespace skewscope::gather
