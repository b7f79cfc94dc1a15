#include "part_file.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "src/gather/process/pulse.h"

namespace skewscope::gather {
namespace {

constexpr uint64_t kWritebackStep = 8 << 20;

}  // namespace

int digest_of(FileSystem& files, int file, uint64_t start, uint64_t bytes, Sha256& digest) {
  std::vector<char> buffer(std::min<uint64_t>(bytes, 1 << 20));
  while (bytes > 0) {
    size_t got = 0;
    const size_t wanted = std::min<uint64_t>(bytes, buffer.size());
    if (const int error = files.read(file, buffer.data(), wanted, start, got); error != 0) return error;
    if (got < wanted) return EIO;
    digest.update({buffer.data(), got});
    start += got;
    bytes -= got;
    Pulse::beat_here();
  }
  return 0;
}

int PartFile::create(uint64_t bytes) {
  if (const int error = files_.create(path_, file_); error != 0) return error;
  const int error = files_.reserve(file_, bytes);
  reserved_ = bytes;
  if (error != 0) {
    close();
    files_.remove(path_);
  }
  return error;
}

int PartFile::open(uint64_t durable, std::optional<uint64_t> length) {
  if (file_ < 0) {
    int error = files_.open(path_, true, file_);
    if (error == ENOENT && durable == 0) error = create(length.value_or(0));
    if (error != 0) {
      file_ = -1;
      return error;
    }
  }
  written_ = durable;
  uint64_t size = 0;
  if (const int error = files_.size(file_, size); error != 0) return error;
  if (size != durable) {
    if (const int error = cut_to(durable); error != 0) return error;
  }
  if (length && *length > reserved_) {  // not by this process yet, or it came late
    if (const int error = files_.reserve(file_, *length); error != 0) return error;
    reserved_ = *length;
  }
  if (hashed_ != durable) {
    if (const int error = read_again(); error != 0) return error;
  }
  begin_segment();
  return 0;
}

// Gives back what was reserved behind: it is taken again before anything else can have it.
int PartFile::cut_to(uint64_t bytes) {
  if (const int error = files_.truncate(file_, bytes); error != 0) return error;
  if (files_.reserve(file_, reserved_) != 0) reserved_ = 0;
  return 0;
}

int PartFile::read_again() {
  whole_ = Sha256();
  hashed_ = 0;
  const int error = digest_of(files_, file_, 0, written_, whole_);
  if (error == 0) hashed_ = written_;
  return error;
}

void PartFile::begin_segment() {
  segment_start_ = handed_over_ = written_;
  whole_before_ = whole_;
  segment_ = written_ == 0 ? std::nullopt : std::optional<Sha256>(Sha256());
}

void PartFile::close() {
  if (file_ >= 0) files_.close(file_);
  file_ = -1;
}

int PartFile::append(std::string_view bytes) {
  if (const int error = files_.write(file_, bytes, written_); error != 0) {
    cut_to(written_);
    return error;
  }
  whole_.update(bytes);
  if (segment_) segment_->update(bytes);
  written_ += bytes.size();
  hashed_ = written_;
  if (written_ - handed_over_ >= kWritebackStep) {
    files_.start_writeback(file_, handed_over_, written_ - handed_over_);
    handed_over_ = written_;
  }
  return 0;
}

int PartFile::sync(Segment& segment) {
  if (const int error = files_.sync_data(file_); error != 0) return error;
  segment = {segment_start_, written_, segment_digest()};
  begin_segment();
  return 0;
}

int PartFile::first_bytes(std::string& bytes) {
  char buffer[4];
  size_t got = 0;
  const int error = files_.read(file_, buffer, sizeof buffer, 0, got);
  bytes.assign(buffer, got);
  return error;
}

int PartFile::roll_back() {
  if (const int error = cut_to(segment_start_); error != 0) return error;
  written_ = hashed_ = segment_start_;
  whole_ = whole_before_;
  begin_segment();
  return 0;
}

}  // namespace skewscope::gather
