#include <catch2/catch.hpp>

#include "tests/thread_exchange.h"

using namespace skewscope;

TEST_CASE("bytes come back in the order of writing, whatever they were") {
  ByteWriter writer;
  writer.put(int32_t{-7});
  writer.put(std::string("a\0b", 3));
  writer.put(std::vector<double>{0.5, -2});
  writer.put(std::string());
  const Bytes bytes = writer.take();
  ByteReader reader(bytes);
  CHECK(reader.get<int32_t>() == -7);
  CHECK(reader.get<std::string>() == std::string("a\0b", 3));
  CHECK(reader.get<std::vector<double>>() == std::vector<double>{0.5, -2});
  CHECK_FALSE(reader.done());
  CHECK(reader.get<std::string>().empty());
  CHECK(reader.done());
}

TEST_CASE("a process alone hears what it says itself") {
  CHECK(alone().all_to_all({"letter"}) == std::vector<Bytes>{"letter"});
  CHECK(alone().all_gather("word") == std::vector<Bytes>{"word"});
  CHECK(gather(alone(), "word") == std::vector<Bytes>{"word"});
  CHECK(broadcast(alone(), "word") == "word");
  CHECK(all_rows(alone(), std::vector<int>{3, 1}) == std::vector<int>{3, 1});
}

TEST_CASE("rows of all processes stand one process after the other, in all of them") {
  const auto heard = in_processes<std::vector<int>>(3, [](Exchange& exchange) {
    return all_rows(exchange, std::vector<int>(static_cast<size_t>(exchange.process()), exchange.process()));
  });
  for (const std::vector<int>& rows : heard) CHECK(rows == std::vector<int>{1, 2, 2});
}

TEST_CASE("slots filled by their owners are filled everywhere") {
  const auto heard = in_processes<std::vector<int>>(3, [](Exchange& exchange) {
    const auto owner_of = [](size_t slot) { return static_cast<int32_t>(slot * slot % 3); };  // 0 1 1 0 1: 2 owns none
    std::vector<int> slots(5, -1);
    for (size_t i = 0; i < slots.size(); ++i) {
      if (owner_of(i) == exchange.process()) slots[i] = 10 * static_cast<int>(i);
    }
    share(exchange, owner_of, slots);
    return slots;
  });
  for (const std::vector<int>& slots : heard) CHECK(slots == std::vector<int>{0, 10, 20, 30, 40});
}

TEST_CASE("what is gathered reaches process 0 alone, and what it says reaches all") {
  const auto heard = in_processes<std::vector<Bytes>>(3, [](Exchange& exchange) {
    std::vector<Bytes> words = gather(exchange, std::to_string(exchange.process()));
    words.push_back(broadcast(exchange, exchange.first() ? "end" : "ignored"));
    return words;
  });
  CHECK(heard[0] == std::vector<Bytes>{"0", "1", "2", "end"});
  CHECK(heard[1] == std::vector<Bytes>{"end"});
  CHECK(heard[2] == std::vector<Bytes>{"end"});
}

TEST_CASE("an error of one process is the error of all: the first one's, where there are several") {
  const auto heard = in_processes<std::string>(4, [](Exchange& exchange) {
    Result<Done> own = Done{};
    if (exchange.process() >= 2) own = Error{ErrorKind::no_input, "of " + std::to_string(exchange.process())};
    const Result<Done> all = agree(exchange, own);
    return all.ok() ? "" : all.error().message;
  });
  for (const std::string& message : heard) CHECK(message == "of 2");
}
