// Does the time of a refusal tell how much of a forged token is right? Hidden: a busy machine makes it noisy. Run with
//   test_gather [timing]
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "skewscope/protocol/sha256.h"
#include "src/gather/http/tokens.h"

namespace skewscope::gather {
namespace {

constexpr int kRounds = 10000;

struct Sample {
  double sum = 0, squares = 0;
  int count = 0;
  void add(double value) {
    sum += value;
    squares += value * value;
    ++count;
  }
  double mean() const { return sum / count; }
  double variance_of_mean() const { return (squares / count - mean() * mean()) / (count - 1); }
};

// Welch's t of two samples.
double welch_t(const Sample& a, const Sample& b) {
  return (a.mean() - b.mean()) / std::sqrt(a.variance_of_mean() + b.variance_of_mean());
}

double nanoseconds_to_refuse(const TokenKeys& keys, const std::string& token) {
  const auto begin = std::chrono::steady_clock::now();
  CHECK(!keys.verify(token, {}));
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

TEST_CASE("a token whose signature is nearly right is refused as fast as one with a random signature", "[.timing]") {
  const TokenKeys keys = TokenKeys::from({std::string(32, 'a'), std::string(32, 'b')});
  std::mt19937 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): a test repeats itself
  const std::string good = keys.mint({"j", kRead, 0, std::chrono::sys_seconds(std::chrono::hours(1)), 0});
  const std::string signed_text = good.substr(0, good.rfind('.') + 1);
  const std::string mac = from_base64url(good.substr(signed_text.size())).value();
  Sample nearly_right, wrong;
  for (int i = 0; i < 2 * kRounds; ++i) {
    const bool nearly = (random() & 1) != 0;
    std::string forged = mac;
    for (size_t at = nearly ? 31 : 0; at < forged.size(); ++at)
      forged[at] = static_cast<char>(forged[at] ^ (1 + random() % 255));
    const double time = nanoseconds_to_refuse(keys, signed_text + base64url(forged));
    if (time < 100000) (nearly ? nearly_right : wrong).add(time);  // longer: the machine did something else
  }
  CAPTURE(nearly_right.mean(), wrong.mean(), nearly_right.count, wrong.count);
  CHECK(std::abs(welch_t(nearly_right, wrong)) < 4.5);
}

}  // namespace
}  // namespace skewscope::gather
