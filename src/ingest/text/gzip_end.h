// Whether a gzip file ends where its stream does, by its last bytes alone.
#pragma once

#include <string_view>

namespace skewscope::ingest {

// `tail`: the last bytes of the file. True: they hold a deflate block and all that follows it up to the last one, which
// ends where the eight bytes of the trailer begin. False: not proven; the blocks may be larger than the tail, or not of
// the usual kind. The checksum is not compared: it is that of the whole content.
bool ends_with_its_stream(std::string_view tail);

}  // namespace skewscope::ingest
