#include "skewscope/base/named_host.h"

#include <catch2/catch.hpp>

using namespace skewscope;

TEST_CASE("the host behind the @ of a file's name ends at the next _ or where the suffixes begin") {
  CHECK(host_behind_at("pretrain-7b_rank3-of-8@node17_step120.pt.trace.json.gz") == "node17");
  CHECK(host_behind_at("rank3@gpu-04.example.com.json") == "gpu-04.example.com");
  CHECK(host_behind_at("worker@node17.1694128201545.pt.trace.json") == "node17");
  CHECK(host_behind_at("trace@node17.json.gz.digest") == "node17");
  CHECK(host_behind_at("rank3@node17.pftrace.gz") == "node17");
  CHECK(host_behind_at("rank3@node17.rpd") == "node17");
  CHECK(host_behind_at("4242@node17_results.db") == "node17");
  CHECK(host_behind_at("user@mail@node2.json") == "node2");
}

TEST_CASE("a name without a host tells none, nor does one that every machine has") {
  for (const char* name : {"rank3.json", "rank3@.json", "@_rank3.json", "rank3@-x.json", "rank3@a b.json", "",
                           "rank3@localhost_step1.json", "rank3@localhost.localdomain.json"}) {
    INFO(name);
    CHECK(host_behind_at(name).empty());
  }
}

TEST_CASE("a host that is put into a name can be read back, and what could not is not put there") {
  for (const char* name :
       {"trace.json", "rank3_trace.json.gz", "node_77.1694128201545.pt.trace.json", "digest", "r.digest"}) {
    INFO(name);
    CHECK(host_behind_at(with_host(name, "node17")) == "node17");
  }
  CHECK(with_host("rank3.pt.trace.json.gz", "node17") == "rank3@node17.pt.trace.json.gz");
  CHECK(with_host("rank3@node2.json", "node17") == "rank3@node2.json");
  for (const char* host : {"", "my_node", "localhost", "../x", "a b"})
    CHECK(with_host("rank3.json", host) == "rank3.json");
}
