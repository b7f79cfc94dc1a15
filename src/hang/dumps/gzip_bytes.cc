#include "src/hang/dumps/gzip_bytes.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <memory>

namespace skewscope::hang {
namespace {

constexpr size_t kMostInflated = size_t{1} << 30, kPiece = size_t{1} << 16;

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.size() > 18 && bytes.starts_with("\x1f\x8b"); }

Result<std::string> gzip_bytes(std::string_view bytes) {
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  std::string in(bytes), out;
  state->next_in = reinterpret_cast<uint8_t*>(in.data());
  state->avail_in = static_cast<uint32_t>(in.size());
  while (state->block_state != ISAL_BLOCK_FINISH) {
    const size_t had = out.size();
    if (had >= kMostInflated) return Error{ErrorKind::no_input, "more than 1 GiB, inflated"};
    out.resize(had + std::max(kPiece, had / 2));
    state->next_out = reinterpret_cast<uint8_t*>(out.data() + had);
    state->avail_out = static_cast<uint32_t>(out.size() - had);
    const int code = isal_inflate(state.get());
    const size_t made = out.size() - had - state->avail_out;
    out.resize(had + made);
    if (code != ISAL_DECOMP_OK) return Error{ErrorKind::no_input, "damaged gzip"};
    if (made == 0 && state->avail_in == 0 && state->block_state != ISAL_BLOCK_FINISH) {
      return Error{ErrorKind::no_input, "the gzip is cut"};
    }
  }
  return out;
}

}  // namespace skewscope::hang
