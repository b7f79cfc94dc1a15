#include "skewscope/base/huge_pages.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdint>

namespace skewscope {

void forbid_huge_pages() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

void make_pages(const char* from, size_t bytes) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(from), begin = address - address % page;
  madvise(reinterpret_cast<void*>(begin), address + bytes - begin, MADV_POPULATE_WRITE);
}

HugePages::HugePages() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }

}  // namespace skewscope
