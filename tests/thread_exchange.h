// Threads that take the parts of processes: what several processes do, in one, where a debugger and the sanitizers see.
#pragma once

#include <barrier>
#include <functional>
#include <thread>
#include <vector>

#include "skewscope/base/exchange.h"

namespace skewscope {

// What the processes of one run have in common.
class Board {
 public:
  explicit Board(int32_t processes)
      : barrier_(processes),
        letters_(static_cast<size_t>(processes), std::vector<Bytes>(static_cast<size_t>(processes))) {}

  int32_t processes() const { return static_cast<int32_t>(letters_.size()); }
  // From all to `process`, once each has said what it has to say.
  std::vector<Bytes> swap(int32_t process, std::vector<Bytes> to) {
    letters_[static_cast<size_t>(process)] = std::move(to);
    barrier_.arrive_and_wait();
    std::vector<Bytes> from;
    for (std::vector<Bytes>& of_sender : letters_) from.push_back(std::move(of_sender[static_cast<size_t>(process)]));
    barrier_.arrive_and_wait();
    return from;
  }

 private:
  std::barrier<> barrier_;
  std::vector<std::vector<Bytes>> letters_;  // by sender, then receiver
};

class ThreadExchange : public Exchange {
 public:
  ThreadExchange(Board& board, int32_t process) : board_(board), process_(process) {}

  int32_t process() const override { return process_; }
  int32_t processes() const override { return board_.processes(); }
  std::vector<Bytes> all_to_all(std::vector<Bytes> to) override {
    for (const Bytes& bytes : to) sent_bytes_ += std::ssize(bytes);
    return board_.swap(process_, std::move(to));
  }
  std::vector<Bytes> all_gather(Bytes own) override {
    return all_to_all(std::vector<Bytes>(static_cast<size_t>(processes()), own));
  }
  int64_t sent_bytes() const { return sent_bytes_; }

 private:
  Board& board_;
  int32_t process_;
  int64_t sent_bytes_ = 0;
};

// Row = process: what `work` made of its exchange.
template <class T>
std::vector<T> in_processes(int32_t processes, const std::function<T(ThreadExchange&)>& work) {
  Board board(processes);
  std::vector<T> results(static_cast<size_t>(processes));
  std::vector<std::thread> threads;
  for (int32_t p = 0; p < processes; ++p) {
    threads.emplace_back([&, p] {
      ThreadExchange exchange(board, p);
      results[static_cast<size_t>(p)] = work(exchange);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

}  // namespace skewscope
