// One file with the details of its rows.
#pragma once

#include <catch2/catch.hpp>
#include <string>

#include "skewscope/ingest.h"

namespace skewscope::test {

template <class Visit>
void visit_trace(const std::string& file, const Visit& visit) {
  INFO(file);
  IngestOptions options;
  bool seen = false;
  options.while_details_last = [&](const TraceFile& read) {
    REQUIRE(read.linked.detail.has_value());
    REQUIRE(check_invariants(*read.linked.detail, read.linked.trace).empty());
    visit(read);
    seen = true;
  };
  StageTimer timer;
  REQUIRE(ingest_job({file}, options, timer).ok());
  REQUIRE(seen);
}

}  // namespace skewscope::test
