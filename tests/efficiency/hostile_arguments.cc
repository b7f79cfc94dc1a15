// Every formula on arguments that no operator has: anyone may have written the file they come from.
#include <catch2/catch.hpp>
#include <random>

#include "skewscope/efficiency/call_script.h"
#include "src/efficiency/models.h"

namespace skewscope::test {
namespace {

using efficiency::Model;
using efficiency::Work;

class Dice {
 public:
  size_t roll(size_t sides) { return source_() % sides; }
  std::string one_of(std::initializer_list<const char*> choices) { return choices.begin()[roll(choices.size())]; }

 private:
  std::mt19937 source_{5};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same dice in each run
};

std::string number(Dice& dice) {
  return dice.one_of(
      {"0", "1", "1", "2", "3", "4", "8", "64", "2147483648", "4611686018427387904", "9223372036854775807"});
}

std::string numbers(Dice& dice, bool negative) {
  std::string list;
  for (size_t left = dice.roll(6); left > 0; --left) {
    list += (list.empty() ? "" : ", ") + std::string(negative && dice.roll(4) == 0 ? "-" : "") + number(dice);
  }
  return "[" + list + "]";
}

struct Texts {
  std::string dims, types, strides, values;
  efficiency::ArgumentTexts view() const {
    return {.dims = dims, .types = types, .strides = strides, .values = values};
  }
};

Texts arguments(Dice& dice) {
  Texts texts;
  for (size_t left = dice.roll(17); left > 0; --left) {
    const std::string comma = texts.dims.empty() ? "" : ", ";
    texts.dims += comma + numbers(dice, false);
    texts.strides += comma + numbers(dice, true);
    texts.types += comma + "\"" +
                   dice.one_of({"float", "float", "c10::Half", "c10::Float8_e4m3fn", "bool", "long int", "c10::Strange",
                                "Scalar", "ScalarList", ""}) +
                   "\"";
    const bool list = dice.roll(2) == 0;
    texts.values +=
        comma + "\"" + (list ? numbers(dice, true) : dice.one_of({"", "True", "False", "-1", "0.5", "nan"})) + "\"";
  }
  for (std::string* text : {&texts.dims, &texts.types, &texts.strides, &texts.values}) *text = "[" + *text + "]";
  return texts;
}

TEST_CASE("no arguments crash a formula, and what is missing always says why") {
  Dice dice;
  size_t models = 0;
  size_t known = 0;
  for (const auto& family :
       {efficiency::gemm_models(), efficiency::convolution_models(), efficiency::attention_models(),
        efficiency::elementwise_models(), efficiency::reduction_models(), efficiency::normalization_models(),
        efficiency::other_models(), efficiency::node_models()}) {
    for (const Model& model : family) {
      ++models;
      for (int round = 0; round < 400; ++round) {
        const Texts texts = arguments(dice);
        const auto forward = texts.view();
        const Work work = efficiency::work_of(model.name, texts.view(), &forward);
        if (work.flops && work.bytes) ++known;
        const bool says_why = (work.flops && work.bytes) == work.unknown.empty();
        const bool counts = work.flops.value_or(0) >= 0 && work.bytes.value_or(0) >= 0;
        if (says_why && counts) continue;
        FAIL(model.name << " " << texts.dims << " " << texts.types << " " << texts.values << ": " << work.unknown);
      }
    }
  }
  CHECK(models > 150);
  CHECK(known > 1000);  // the dice are not all refused at the door
}

TEST_CASE("no arguments crash the writer of replay scripts") {
  Dice dice;
  size_t written = 0;
  for (int round = 0; round < 4000; ++round) {
    const Texts texts = arguments(dice);
    if (efficiency::replay_script("aten::x", texts.view(), {}).ok()) ++written;
  }
  CHECK(written > 100);
}

}  // namespace
}  // namespace skewscope::test
