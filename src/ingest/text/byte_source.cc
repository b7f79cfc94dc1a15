#include "byte_source.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>
#include <string_view>
#include <vector>

namespace skewscope::ingest {
namespace {

constexpr size_t kCompressedBlock = 256 << 10;

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {
    struct stat status {};
    if (::fstat(descriptor, &status) == 0) size_ = static_cast<size_t>(status.st_size);
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  size_t read_at(size_t offset, char* out, size_t size) {
    size_t got = 0;
    while (got < size && !failed_) {
      const ssize_t n = ::pread(descriptor_, out + got, size - got, static_cast<off_t>(offset + got));
      if (n == 0) break;
      if (n > 0) {
        got += static_cast<size_t>(n);
      } else if (errno != EINTR) {
        failed_ = true;
      }
    }
    return got;
  }
  size_t read(char* out, size_t size) {
    const size_t got = read_at(at_, out, size);
    at_ += got;
    return got;
  }
  void seek(size_t offset) { at_ = offset; }
  size_t size() const { return size_; }
  bool failed() const { return failed_; }
  double share_read() const {
    return at_ < size_ ? static_cast<double>(at_) / static_cast<double>(size_) : 1;  // one that grows is at its end
  }

 private:
  int descriptor_;
  size_t size_ = 0, at_ = 0;
  std::atomic<bool> failed_ = false;
};

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(std::unique_ptr<File> file) : file_(std::move(file)) { file_->seek(0); }

  size_t read(char* out, size_t size) override { return file_->read(out, size); }
  const char* compression() const override { return ""; }
  double share_read() const override { return file_->share_read(); }
  SourceEnd end() const override { return file_->failed() ? SourceEnd::unreadable : SourceEnd::whole; }
  size_t readable_anywhere() const override { return file_->size(); }
  size_t read_at(size_t offset, char* out, size_t size) override { return file_->read_at(offset, out, size); }
  void seek(size_t offset) override { file_->seek(offset); }

 private:
  std::unique_ptr<File> file_;
};

// Compressed bytes, refilled block by block.
class CompressedInput {
 public:
  CompressedInput(std::unique_ptr<File> file, std::string head) : file_(std::move(file)), block_(kCompressedBlock) {
    std::copy(head.begin(), head.end(), block_.begin());
    size_ = head.size();
  }
  // False at the end of the file.
  bool refill() {
    if (at_ < size_) return true;
    at_ = 0;
    size_ = file_->read(block_.data(), block_.size());
    return size_ > 0;
  }
  char* data() { return block_.data() + at_; }
  size_t size() const { return size_ - at_; }
  void skip(size_t n) { at_ += n; }
  bool failed() const { return file_->failed(); }
  double share_read() const { return file_->share_read(); }

 private:
  std::unique_ptr<File> file_;
  std::vector<char> block_;
  size_t at_ = 0, size_ = 0;
};

class GzipSource : public ByteSource {
 public:
  explicit GzipSource(CompressedInput input) : input_(std::move(input)), state_(std::make_unique<inflate_state>()) {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
  }

  size_t read(char* out, size_t size) override {
    size_t got = 0;
    while (got < size && !done_) got += inflate_some(out + got, size - got);
    return got;
  }
  const char* compression() const override { return "gzip"; }
  double share_read() const override { return input_.share_read(); }
  SourceEnd end() const override { return end_; }

 private:
  size_t inflate_some(char* out, size_t size) {
    if (state_->block_state == ISAL_BLOCK_FINISH && !next_member()) return 0;
    const bool more = input_.refill();
    const size_t in_size = more ? input_.size() : 0;
    const uint32_t out_size = static_cast<uint32_t>(std::min<size_t>(size, 1U << 30));
    state_->next_in = reinterpret_cast<uint8_t*>(input_.data());
    state_->avail_in = static_cast<uint32_t>(in_size);
    state_->next_out = reinterpret_cast<uint8_t*>(out);
    state_->avail_out = out_size;
    const int error = isal_inflate(state_.get());
    input_.skip(in_size - state_->avail_in);
    const size_t got = out_size - state_->avail_out;
    if (error < ISAL_DECOMP_OK) {
      finish(SourceEnd::damaged);
    } else if (!more && got == 0 && state_->block_state != ISAL_BLOCK_FINISH) {
      const bool data_whole = state_->block_state == ISAL_CHECKSUM_CHECK;
      finish(input_.failed() ? SourceEnd::unreadable : data_whole ? SourceEnd::no_trailer : SourceEnd::cut);
    }
    return got;
  }

  // A gzip file may be several streams, one after the other, with zero bytes between them.
  bool next_member() {
    while (input_.refill()) {
      const char* first = std::find_if(input_.data(), input_.data() + input_.size(), [](char c) { return c != 0; });
      input_.skip(static_cast<size_t>(first - input_.data()));
      if (input_.size() == 0) continue;
      if (static_cast<uint8_t>(*first) != 0x1f) {
        finish(SourceEnd::trailing);
        return false;
      }
      isal_inflate_reset(state_.get());
      state_->crc_flag = ISAL_GZIP;
      return true;
    }
    finish(input_.failed() ? SourceEnd::unreadable : SourceEnd::whole);
    return false;
  }

  void finish(SourceEnd end) {
    done_ = true;
    end_ = end;
  }

  CompressedInput input_;
  std::unique_ptr<inflate_state> state_;
  bool done_ = false;
  SourceEnd end_ = SourceEnd::whole;
};

class ZstdSource : public ByteSource {
 public:
  explicit ZstdSource(CompressedInput input) : input_(std::move(input)), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw std::bad_alloc();
  }
  ~ZstdSource() override { ZSTD_freeDStream(stream_); }
  ZstdSource(const ZstdSource&) = delete;
  ZstdSource& operator=(const ZstdSource&) = delete;

  size_t read(char* out, size_t size) override {
    ZSTD_outBuffer target{out, size, 0};
    while (target.pos < size && !done_) {
      const bool more = input_.refill();
      ZSTD_inBuffer from{input_.data(), more ? input_.size() : 0, 0};
      const size_t before = target.pos;
      const size_t hint = ZSTD_decompressStream(stream_, &target, &from);
      input_.skip(from.pos);
      if (ZSTD_getErrorCode(hint) == ZSTD_error_memory_allocation) throw std::bad_alloc();  // says nothing of the file
      if (ZSTD_isError(hint)) {
        done_ = true;
        end_ = between_frames_ ? SourceEnd::trailing : SourceEnd::damaged;
      } else if (!more && target.pos == before) {
        done_ = true;
        end_ = input_.failed() ? SourceEnd::unreadable : between_frames_ ? SourceEnd::whole : SourceEnd::cut;
      } else {
        between_frames_ = hint == 0;
      }
    }
    return target.pos;
  }
  const char* compression() const override { return "zstd"; }
  double share_read() const override { return input_.share_read(); }
  SourceEnd end() const override { return end_; }

 private:
  CompressedInput input_;
  ZSTD_DStream* stream_;
  bool done_ = false;
  bool between_frames_ = false;
  SourceEnd end_ = SourceEnd::whole;
};

}  // namespace

Result<std::unique_ptr<ByteSource>> open_byte_source(const std::string& file) {
  // Asked before opening, which would wait for the writer of a pipe.
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return Error{ErrorKind::no_input,
                 file + (S_ISDIR(status.st_mode) ? ": is a directory" : ": is not a regular file")};
  }
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return cannot_read(file, errno);
  auto opened = std::make_unique<File>(descriptor);
  std::string magic(4, '\0');
  magic.resize(opened->read(magic.data(), magic.size()));
  if (opened->failed()) return cannot_read(file, errno);
  using namespace std::string_view_literals;
  if (magic.starts_with("\x1f\x8b"sv)) {
    return std::unique_ptr<ByteSource>(new GzipSource(CompressedInput(std::move(opened), magic)));
  }
  if (magic == "\x28\xb5\x2f\xfd"sv) {
    return std::unique_ptr<ByteSource>(new ZstdSource(CompressedInput(std::move(opened), magic)));
  }
  return std::unique_ptr<ByteSource>(new PlainSource(std::move(opened)));
}

}  // namespace skewscope::ingest
