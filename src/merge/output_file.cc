#include "output_file.h"

#include <fmt/format.h>
#include <isa-l/igzip_lib.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace skewscope::merge {

struct GzipStream {
  isal_zstream stream{};
  std::vector<uint8_t> level_buffer = std::vector<uint8_t>(ISAL_DEF_LVL1_DEFAULT);
  std::vector<uint8_t> piece = std::vector<uint8_t>(1 << 18);

  GzipStream() {
    isal_deflate_init(&stream);
    stream.level = 1;
    stream.level_buf = level_buffer.data();
    stream.level_buf_size = static_cast<uint32_t>(level_buffer.size());
    stream.gzip_flag = IGZIP_GZIP;
  }
};

OutputFile::OutputFile(std::string path, bool gzip)
    : path_(std::move(path)),
      file_(std::fopen(path_.c_str(), "wb")),
      gzip_(gzip ? std::make_unique<GzipStream>() : nullptr) {
  if (file_ == nullptr) fail();
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void OutputFile::fail() {
  if (reason_.empty()) reason_ = fmt::format("cannot write {}: {}", path_, std::strerror(errno));
}

void OutputFile::write(std::string_view bytes) {
  if (gzip_) {
    compress(bytes, false);
  } else {
    store(bytes);
  }
}

void OutputFile::store(std::string_view bytes) {
  if (reason_.empty() && std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail();
}

void OutputFile::compress(std::string_view bytes, bool last) {
  isal_zstream& stream = gzip_->stream;
  std::vector<uint8_t> input(bytes.begin(), bytes.end());  // ISA-L wants its input mutable
  stream.next_in = input.data();
  stream.avail_in = static_cast<uint32_t>(input.size());
  stream.end_of_stream = last ? 1 : 0;
  do {
    stream.next_out = gzip_->piece.data();
    stream.avail_out = static_cast<uint32_t>(gzip_->piece.size());
    isal_deflate(&stream);  // fails on wrong settings only
    store({reinterpret_cast<const char*>(gzip_->piece.data()), gzip_->piece.size() - stream.avail_out});
  } while (stream.avail_out == 0);
}

Result<Done> OutputFile::close() {
  if (gzip_) compress("", true);
  if (file_ != nullptr && std::fclose(file_) != 0) fail();
  file_ = nullptr;
  if (!reason_.empty()) return Error{ErrorKind::output, reason_};
  return Done{};
}

}  // namespace skewscope::merge
