#include "src/ship/file_stamp.h"

#include <linux/magic.h>

#include <catch2/catch.hpp>

using namespace skewscope::ship;

TEST_CASE("a disk that other machines may mount tells no host: one agent may send the traces of all nodes") {
  constexpr long kLustre = 0x0bd00bd0, kGpfs = 0x47504653, kFuse = 0x65735546;
  for (const long kind : {long{NFS_SUPER_MAGIC}, long{SMB_SUPER_MAGIC}, kLustre, kGpfs, kFuse}) {
    CHECK_FALSE(is_of_one_machine(kind));
  }
  for (const long kind : {long{EXT4_SUPER_MAGIC}, long{TMPFS_MAGIC}, long{OVERLAYFS_SUPER_MAGIC}}) {
    CHECK(is_of_one_machine(kind));
  }
  CHECK(host_of_disk(-1).empty());
}
