// The dialog of one upload: from what the ledger knows of it to the gatherer's word that it has all, with our digest.
#pragma once

#include <functional>
#include <string>

#include "http/client.h"
#include "ledger.h"
#include "retry.h"

namespace skewscope::ship {

struct Sending {
  Client& client;
  const Payload& payload;
  const UploadMetadata& metadata;
  std::function<bool()> unchanged;  // the file is what the payload was made of
  std::function<void(uint64_t offset)> progressed;
  std::function<void()> save;      // the item
  std::function<int64_t()> age_s;  // of the file's content, now; none: it does not matter
  int wrong_digests = 0;           // times the gatherer ended with another digest
  int conflicts = 0;               // 409 and 460, without progress
  uint64_t furthest = 0;           // offset: what is behind it is progress
};

struct Sent {
  // run_goes_on: the gatherer has another file of the rank, and takes this one once the run of that one is over.
  enum class End { accepted, wait, refused, changed, run_goes_on };
  End end = End::wait;
  Reply why;  // the answer that stopped it; `detail` says it in words
};

// Until it is accepted or something stops it; `item` tells where it is.
Sent send(Sending& sending, Item& item);

}  // namespace skewscope::ship
