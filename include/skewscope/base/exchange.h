// Several processes that correlate one job together, on one machine or many. Each holds the events of the traces it
// read; what they tell each other goes through here. A run in one process is the same run with nobody to tell.
//
// Every call is made by all processes in the same order, outside parallel loops. A process that fails between two calls
// would leave the others waiting: failures are agreed upon (agree), and whoever dies takes the others along.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "skewscope/base/bytes.h"
#include "skewscope/base/result.h"

namespace skewscope {

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual int32_t process() const = 0;    // 0 .. processes() - 1
  virtual int32_t processes() const = 0;  // at least 1
  // to[p] goes to process p; row p of the result came from process p.
  virtual std::vector<Bytes> all_to_all(std::vector<Bytes> to) = 0;
  // What each has to say, sent to all; row = process.
  virtual std::vector<Bytes> all_gather(Bytes own) = 0;

  bool first() const { return process() == 0; }
};

// A process that has no others.
class Alone : public Exchange {
 public:
  int32_t process() const override { return 0; }
  int32_t processes() const override { return 1; }
  std::vector<Bytes> all_to_all(std::vector<Bytes> to) override { return to; }
  std::vector<Bytes> all_gather(Bytes own) override { return {std::move(own)}; }
};
Exchange& alone();

// What each has to say, sent to process 0; the others get nothing.
std::vector<Bytes> gather(Exchange& exchange, Bytes own);
// What process 0 says.
Bytes broadcast(Exchange& exchange, Bytes of_first);
// Done when all are; else, in every process, the error of the first one that has one.
Result<Done> agree(Exchange& exchange, const Result<Done>& own);
// Whether it is so in some process.
bool any_process(Exchange& exchange, bool own);

// The rows of all processes, one process after the other.
template <PlainData T>
std::vector<T> all_rows(Exchange& exchange, std::vector<T> own) {
  if (exchange.processes() == 1) return own;
  ByteWriter writer;
  writer.put(own);
  std::vector<T> all;
  for (const Bytes& bytes : exchange.all_gather(writer.take())) {
    const std::vector<T> rows = ByteReader(bytes).get<std::vector<T>>();
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

// Items are put into bytes by the process that `owner_of(item)` says, each in order, and read from these.
template <class Owner, class Get>
void read_items(const std::vector<Bytes>& told, size_t items, const Owner& owner_of, const Get& get) {
  std::vector<ByteReader> readers(told.begin(), told.end());
  for (size_t i = 0; i < items; ++i) get(readers[static_cast<size_t>(owner_of(i))], i);
}
template <class Owner, class Put>
Bytes own_items(const Exchange& exchange, size_t items, const Owner& owner_of, const Put& put) {
  ByteWriter writer;
  for (size_t i = 0; i < items; ++i) {
    if (owner_of(i) == exchange.process()) put(writer, i);
  }
  return writer.take();
}

// Every process gets every item: put(writer, item) in its owner, get(reader, item) in all.
template <class Owner, class Put, class Get>
void tell_all(Exchange& exchange, size_t items, const Owner& owner_of, const Put& put, const Get& get) {
  if (exchange.processes() == 1) return;
  read_items(exchange.all_gather(own_items(exchange, items, owner_of, put)), items, owner_of, get);
}
// The same, but process 0 alone gets them.
template <class Owner, class Put, class Get>
void tell_first(Exchange& exchange, size_t items, const Owner& owner_of, const Put& put, const Get& get) {
  if (exchange.processes() == 1) return;
  const std::vector<Bytes> told = gather(exchange, own_items(exchange, items, owner_of, put));
  if (exchange.first()) read_items(told, items, owner_of, get);
}

// Each process has filled the slots that are its own; then all have all.
template <PlainData T, class Owner>
void share(Exchange& exchange, const Owner& owner_of, std::vector<T>& slots) {
  tell_all(
      exchange, slots.size(), owner_of, [&](ByteWriter& writer, size_t i) { writer.put(slots[i]); },
      [&](ByteReader& reader, size_t i) { reader.get(slots[i]); });
}

// All get the rows of process 0.
template <PlainData T>
void follow_first(Exchange& exchange, std::vector<T>& rows) {
  if (exchange.processes() == 1) return;
  ByteWriter writer;
  writer.put(rows);
  const Bytes told = broadcast(exchange, writer.take());
  ByteReader(told).get(rows);
}

}  // namespace skewscope
