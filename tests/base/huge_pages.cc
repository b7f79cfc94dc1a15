#include "skewscope/base/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cerrno>

using skewscope::make_pages;

namespace {

struct Mapping {
  size_t bytes = 16 * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* data = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ~Mapping() { munmap(data, bytes); }

  bool is_there(size_t page) const {
    unsigned char there = 0;
    const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    REQUIRE(mincore(data + page * size, 1, &there) == 0);
    return (there & 1) != 0;
  }
};

bool kernel_can() {
  const Mapping some;
  return madvise(some.data, some.bytes, MADV_POPULATE_WRITE) == 0 || errno != EINVAL;
}

}  // namespace

TEST_CASE("pages are made where they are asked for, and what is in them stays") {
  if (!kernel_can()) {
    WARN("skipped: Linux 5.14 or newer is needed");
    return;
  }
  const skewscope::HugePages allowed;
  const Mapping some;
  madvise(some.data, some.bytes, MADV_NOHUGEPAGE);  // page by page
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  some.data[4 * page] = 'x';
  make_pages(some.data + 4 * page + 100, page);
  CHECK_FALSE(some.is_there(3));
  CHECK(some.is_there(4));
  CHECK(some.is_there(5));
  CHECK_FALSE(some.is_there(6));
  CHECK(some.data[4 * page] == 'x');
}

TEST_CASE("asking for memory that is not there does nothing") {
  const char* gone = nullptr;
  {
    const Mapping some;
    gone = some.data;
  }
  make_pages(gone, 1 << 20);
  SUCCEED();
}
