#include "src/ship/retry.h"

#include <catch2/catch.hpp>

using namespace skewscope::ship;
using namespace std::chrono_literals;

TEST_CASE("network errors, 408, 425, 429 and 5xx but 501 and 505 are tried again") {
  for (const int status : {0, 408, 425, 429, 500, 502, 503, 504, 507}) {
    CHECK(advise(status, About::creation) == Advice::wait);
    CHECK(advise(status, About::upload) == Advice::wait);
  }
  for (const int status : {501, 505}) CHECK(advise(status, About::upload) == Advice::refuse);
}

TEST_CASE("409 and 460 ask for the offset, a lost upload begins anew, other 4xx and 3xx end it") {
  CHECK(advise(409, About::upload) == Advice::resync);
  CHECK(advise(460, About::upload) == Advice::resync);
  CHECK(advise(404, About::upload) == Advice::start_over);
  CHECK(advise(410, About::upload) == Advice::start_over);
  for (const int status : {301, 307, 400, 411, 412, 413, 415, 417, 421, 431}) {
    CHECK(advise(status, About::upload) == Advice::refuse);
  }
  for (const int status : {400, 409, 410, 413}) CHECK(advise(status, About::creation) == Advice::refuse);
}

TEST_CASE("401, 403 and a job that is not found are about the token, which may be replaced: never the end of a trace") {
  for (const int status : {401, 403}) {
    CHECK(advise(status, About::creation) == Advice::wait);
    CHECK(advise(status, About::upload) == Advice::wait);
  }
  CHECK(advise(404, About::creation) == Advice::wait);
}

TEST_CASE("the same trouble is news once, and again after progress or another trouble") {
  Outage outage;
  CHECK(outage.is_news("401"));
  CHECK_FALSE(outage.is_news("401"));
  CHECK(outage.is_news("no certificate"));
  CHECK(outage.is_news("401"));
  outage.over();
  CHECK(outage.is_news("401"));
}

TEST_CASE("waits are random below 0.5 s doubled at each failure, at most 60 s, and begin anew with progress") {
  Backoff backoff([] { return 0.999999; });
  for (const auto most : {500ms, 1000ms, 2000ms, 4000ms, 8000ms, 16000ms, 32000ms, 60000ms, 60000ms}) {
    const auto wait = backoff.failed(503, {});
    CHECK(wait <= most);
    CHECK(wait >= most - 1ms);
  }
  backoff.progressed();
  CHECK(backoff.failed(0, {}) <= 500ms);
  Backoff at_once([] { return 0.0; });
  CHECK(at_once.failed(0, {}) == 0ms);
}

TEST_CASE("Retry-After is waited for, within an hour; a full disk without it for 5 minutes") {
  Backoff backoff([] { return 0.0; });
  CHECK(backoff.failed(503, 17s) == 17s);
  CHECK(backoff.failed(507, {}) == 300s);
  CHECK(backoff.failed(507, 3s) == 3s);
  CHECK(backoff.failed(503, 100'000'000s) == 3600s);
}
