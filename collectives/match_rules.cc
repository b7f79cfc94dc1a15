#include "collectives/match_rules.h"

#include <algorithm>

namespace skewscope {
namespace {

// splitmix64 (Steele, Lea, Flood 2014): spreads small integers over 64 bits.
uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

bool sizes_may_differ(CollectiveKind kind) {
  return kind == CollectiveKind::all_to_all || kind == CollectiveKind::gather || kind == CollectiveKind::scatter ||
         kind == CollectiveKind::coalesced || kind == CollectiveKind::unknown;
}

uint64_t match_signature(CollectiveKind kind, DType type, int64_t in_elements, int64_t out_elements, int64_t root) {
  const bool pair = kind == CollectiveKind::send || kind == CollectiveKind::recv;
  const int64_t elements = sizes_may_differ(kind) ? -1 : (pair ? std::max(in_elements, out_elements) : in_elements);
  uint64_t hash = mix(static_cast<uint64_t>(pair ? CollectiveKind::send : kind));
  hash = mix(hash ^ static_cast<uint64_t>(type));
  hash = mix(hash ^ static_cast<uint64_t>(elements));
  return mix(hash ^ static_cast<uint64_t>(pair ? -1 : root));
}

}  // namespace skewscope
