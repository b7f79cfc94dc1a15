// When the kernel may back memory with pages of 2 MiB. While traces are read, columns grow, and a fault for each 4 KiB
// costs a tenth of the time. Stages that free and take large columns again and again, and daemons, are better off
// without. Of the whole process; where the kernel has no huge pages, nothing happens.
#pragma once

#include <cstddef>

namespace skewscope {

void forbid_huge_pages();

// Has the kernel make the pages of [from, from + bytes), as first touches would; their content is left alone. Of memory
// that may have been given back meanwhile. Does nothing where the kernel cannot (before Linux 5.14).
void make_pages(const char* from, size_t bytes);

// Allows them while it lives. Not nested.
class HugePages {
 public:
  HugePages();
  ~HugePages() { forbid_huge_pages(); }
  HugePages(const HugePages&) = delete;
  HugePages& operator=(const HugePages&) = delete;
};

}  // namespace skewscope
