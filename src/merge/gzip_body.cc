#include "gzip_body.h"

#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace skewscope::merge {
namespace {

constexpr size_t kBlock = 1 << 18;
constexpr uint64_t kTrailer = 8;  // CRC-32 and size

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_file(const std::string& path) { return {std::fopen(path.c_str(), "rb"), std::fclose}; }

Error unusable(const std::string& path, const std::string& why) { return {ErrorKind::no_input, path + ": " + why}; }

class Inflater {
 public:
  explicit Inflater(std::FILE* file) : file_(file), state_(std::make_unique<inflate_state>()) {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP_NO_HDR_VER;
  }

  bool read_header() {
    isal_gzip_header header;
    isal_gzip_header_init(&header);
    int status = ISAL_END_INPUT;
    while (status == ISAL_END_INPUT && refill()) status = isal_read_gzip_header(state_.get(), &header);
    return status == ISAL_DECOMP_OK;
  }

  // To the end of the stream and its trailer; false where it is cut or damaged.
  bool inflate() {
    std::vector<uint8_t> out(kBlock);
    while (state_->block_state != ISAL_BLOCK_FINISH) {
      const bool more = refill();
      state_->next_out = out.data();
      state_->avail_out = static_cast<uint32_t>(out.size());
      if (isal_inflate(state_.get()) != ISAL_DECOMP_OK) return false;
      plain_bytes_ += out.size() - state_->avail_out;
      if (!more && state_->avail_out == out.size()) return false;
    }
    return true;
  }

  bool at_end() { return !refill(); }
  uint64_t taken() const { return read_ - state_->avail_in; }
  uint64_t plain_bytes() const { return plain_bytes_; }
  uint32_t crc() const { return state_->crc; }

 private:
  bool refill() {
    if (state_->avail_in > 0) return true;
    const size_t got = std::fread(in_.data(), 1, in_.size(), file_);
    read_ += got;
    state_->next_in = in_.data();
    state_->avail_in = static_cast<uint32_t>(got);
    return got > 0;
  }

  std::FILE* file_;
  std::unique_ptr<inflate_state> state_;
  std::vector<uint8_t> in_ = std::vector<uint8_t>(kBlock);
  uint64_t read_ = 0, plain_bytes_ = 0;
};

// What libzip asks of a source.
struct Source {
  const GzipBody& body;
  File file{nullptr, std::fclose};
  uint64_t left = 0;
  zip_error_t error{};
};

zip_int64_t give_stat(const GzipBody& body, void* data) {
  auto* stat = static_cast<zip_stat_t*>(data);
  zip_stat_init(stat);
  stat->valid = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_CRC | ZIP_STAT_COMP_METHOD;
  stat->size = body.plain_bytes;
  stat->comp_size = body.bytes;
  stat->crc = body.crc;
  stat->comp_method = ZIP_CM_DEFLATE;
  return sizeof(zip_stat_t);
}

zip_int64_t open_source(Source& source) {
  source.file = open_file(source.body.path);
  source.left = source.body.bytes;
  if (source.file && fseeko(source.file.get(), static_cast<off_t>(source.body.begin), SEEK_SET) == 0) return 0;
  zip_error_set(&source.error, ZIP_ER_OPEN, errno);
  return -1;
}

zip_int64_t read_source(Source& source, void* data, zip_uint64_t size) {
  const uint64_t wanted = std::min<uint64_t>(size, source.left);
  const uint64_t got = std::fread(data, 1, wanted, source.file.get());
  source.left -= got;
  if (got == wanted) return static_cast<zip_int64_t>(got);
  zip_error_set(&source.error, ZIP_ER_READ, errno);
  return -1;
}

zip_int64_t answer(void* state, void* data, zip_uint64_t size, zip_source_cmd_t command) {
  Source& source = *static_cast<Source*>(state);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      return open_source(source);
    case ZIP_SOURCE_READ:
      return read_source(source, data, size);
    case ZIP_SOURCE_CLOSE:
      source.file.reset();
      return 0;
    case ZIP_SOURCE_STAT:
      return give_stat(source.body, data);
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&source.error, data, size);
    case ZIP_SOURCE_FREE:
      delete &source;
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return ZIP_SOURCE_SUPPORTS_READABLE;
    default:
      zip_error_set(&source.error, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

}  // namespace

Result<GzipBody> find_gzip_body(const std::string& path) {
  const File file = open_file(path);
  if (!file) return unusable(path, std::strerror(errno));
  std::array<unsigned char, 4> magic{};
  const size_t got = std::fread(magic.data(), 1, magic.size(), file.get());
  std::rewind(file.get());
  GzipBody body;
  body.path = path;
  if (got == magic.size() && magic == std::array<unsigned char, 4>{0x28, 0xB5, 0x2F, 0xFD}) {
    return unusable(path, "Perfetto does not read zstd: write a .pftrace or a .json.gz");
  }
  body.is_gzip = got >= 2 && magic[0] == 0x1F && magic[1] == 0x8B;
  if (!body.is_gzip) return body;
  Inflater inflater(file.get());
  const bool headed = inflater.read_header();
  body.begin = inflater.taken();
  if (!headed || !inflater.inflate()) return unusable(path, "is cut or damaged: write a .pftrace or a .json.gz");
  body.bytes = inflater.taken() - body.begin - kTrailer;
  body.plain_bytes = inflater.plain_bytes();
  body.crc = inflater.crc();
  if (!inflater.at_end()) return unusable(path, "has several gzip members: write a .pftrace or a .json.gz");
  return body;
}

zip_source_t* deflated_source(zip_t* archive, const GzipBody& body) {
  auto* source = new Source{body};
  zip_error_init(&source->error);
  zip_source_t* made = zip_source_function(archive, answer, source);
  if (made == nullptr) delete source;
  return made;
}

}  // namespace skewscope::merge
