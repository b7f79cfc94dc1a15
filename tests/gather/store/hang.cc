// A thread that hangs is found out; one that has much to do is not.
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "memory_disk.h"
#include "model.h"
#include "spool.h"
#include "src/gather/process/pulse.h"

namespace skewscope::gather {
namespace {

using test::Asking;
using test::MemoryDisk;
using test::upload_of;

TEST_CASE("a thread without work is alive, one with work only while it takes steps") {
  Pulse pulse;
  CHECK(pulse.advanced());
  CHECK(pulse.advanced());
  {
    const Pulse::Work work(pulse);
    CHECK(pulse.advanced());
    CHECK_FALSE(pulse.advanced());
    Pulse::beat_here();
    CHECK(pulse.advanced());
    CHECK_FALSE(pulse.advanced());
  }
  Pulse::beat_here();  // has no work: nobody's step
  CHECK(pulse.advanced());
}

// Its flushes of bytes or of folders do not come back while they are held.
class HangingDisk : public MemoryDisk {
 public:
  std::atomic<bool> holds_bytes = false, holds_folders = false;
  std::atomic<int> held = 0;

  int sync_data(int file) override {
    wait_while(holds_bytes);
    return MemoryDisk::sync_data(file);
  }
  int sync_folder(const std::string& path) override {
    wait_while(holds_folders);
    return MemoryDisk::sync_folder(path);
  }

 private:
  void wait_while(const std::atomic<bool>& holds) {
    if (!holds) return;
    ++held;
    while (holds) usleep(1000);
    --held;
  }
};

void hang(std::atomic<bool> HangingDisk::*holds) {
  HangingDisk disk;
  const auto store = std::move(Store::open(test::memory_options(disk))).value();
  Asking ask(*store);
  CHECK(ask.put("train", 0, "abcd").value.complete);
  usleep(20'000);
  CHECK(store->advances());
  disk.*holds = true;
  std::atomic<bool> done = false;
  std::thread sender([&] {
    CHECK(ask.put("train", 1, "efgh").value.complete);
    done = true;
  });
  while (disk.held == 0) usleep(1000);
  store->advances();
  for (int i = 0; i < 5; ++i) {
    CHECK_FALSE(store->advances());
    usleep(10'000);
  }
  CHECK_FALSE(done);
  disk.*holds = false;
  sender.join();
  CHECK(test::eventually([&] { return store->advances(); }));
}

TEST_CASE("a file thread that hangs in a flush is told of") { hang(&HangingDisk::holds_bytes); }

TEST_CASE("the commit thread that hangs in a flush is told of") { hang(&HangingDisk::holds_folders); }

}  // namespace
}  // namespace skewscope::gather
