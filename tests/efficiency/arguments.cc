#include "skewscope/efficiency/arguments.h"

#include <catch2/catch.hpp>

namespace skewscope::test {
namespace {

using efficiency::Argument;
using efficiency::ArgumentKind;
using efficiency::parse_arguments;
using Numbers = std::vector<int64_t>;

TEST_CASE("an argument is a tensor, a list of tensors, a value or nothing") {
  const auto arguments = parse_arguments({.dims = "[[8, 16], [[4, 2], [4, 3]], [], []]",
                                          .types = R"(["c10::BFloat16", "TensorList", "Scalar", ""])",
                                          .strides = "[[16, 1], [[2, 1], [3, 1]], [], []]",
                                          .values = R"(["", "", "-1", ""])"});
  REQUIRE(arguments);
  REQUIRE(arguments->size() == 4);
  const Argument& tensor = (*arguments)[0];
  REQUIRE(tensor.tensor() != nullptr);
  CHECK(tensor.tensor()->dims == Numbers{8, 16});
  CHECK(tensor.tensor()->strides == Numbers{16, 1});
  CHECK(tensor.tensor()->type == DType::bfloat16);
  CHECK((*arguments)[1].kind == ArgumentKind::tensor_list);
  REQUIRE((*arguments)[1].tensors.size() == 2);
  CHECK((*arguments)[1].tensors[1].dims == Numbers{4, 3});
  CHECK((*arguments)[2].kind == ArgumentKind::value);
  CHECK((*arguments)[2].integer() == -1);
  CHECK((*arguments)[3].kind == ArgumentKind::none);
}

TEST_CASE("a tensor without dimensions is told from a scalar by its type") {
  const auto arguments =
      parse_arguments({.dims = "[[], []]", .types = R"(["double", "Scalar"])", .strides = "", .values = ""});
  REQUIRE(arguments);
  REQUIRE((*arguments)[0].tensor() != nullptr);
  CHECK((*arguments)[0].tensor()->dims.empty());
  CHECK((*arguments)[1].tensor() == nullptr);
}

TEST_CASE("strides and values that were not recorded are empty") {
  const auto arguments = parse_arguments({.dims = "[[3]]", .types = R"(["float"])", .strides = "", .values = ""});
  REQUIRE(arguments);
  CHECK((*arguments)[0].tensor()->strides.empty());
  CHECK((*arguments)[0].value == "");
}

TEST_CASE("values are integers, numbers, booleans or lists as recorded") {
  const auto value = [](const std::string& text) {
    return Argument{.kind = ArgumentKind::value, .type = "Scalar", .value = text, .tensors = {}};
  };
  CHECK(value("15").integer() == 15);
  CHECK_FALSE(value("0.5").integer());
  CHECK_FALSE(value("99999999999999999999").integer());
  CHECK(value("0.").number() == 0.0);
  CHECK(value("1.0000000000000001e-05").number() == 1e-05);
  CHECK_FALSE(value("inf").number());
  CHECK(value("True").boolean() == true);
  CHECK(value("False").boolean() == false);
  CHECK_FALSE(value("1").boolean());
  CHECK(value("[1, -1]").integers() == Numbers{1, -1});
  CHECK(value("[]").integers() == Numbers{});
  CHECK(value("[True, False, True]").integers() == Numbers{1, 0, 1});
  CHECK_FALSE(value("[1, ").integers());
  CHECK_FALSE(value("1").integers());
}

TEST_CASE("damaged texts are no arguments") {
  const std::string types = R"(["float"])";
  CHECK_FALSE(parse_arguments({}));
  for (const char* dims : {"", "[[1, 2]", "null", "{}", "[[-1]]", "[[1.5]]", "[[\"8\"]]", "[7]", "[[1], [2]]",
                           "[[18446744073709551615]]", "[[[1, [2]]]]"}) {
    INFO(dims);
    CHECK_FALSE(parse_arguments({.dims = dims, .types = types, .strides = "", .values = ""}));
  }
  CHECK_FALSE(parse_arguments({.dims = "[[1]]", .types = "[1]", .strides = "", .values = ""}));
  CHECK(parse_arguments({.dims = "[[1]]", .types = types, .strides = "[[\"x\"]]", .values = "7"}));
}

TEST_CASE("texts nested a hundred thousand deep are refused, not followed") {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  CHECK_FALSE(parse_arguments({.dims = deep, .types = R"(["float"])", .strides = deep, .values = deep}));
}

}  // namespace
}  // namespace skewscope::test
