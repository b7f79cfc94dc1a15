#include "trace_sink.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

namespace skewscope::simulate {

class Compressor {
 public:
  virtual ~Compressor() = default;
  // Compresses `text` to the end of `out`; `last` ends the stream.
  virtual bool compress(std::string_view text, bool last, std::string& out) = 0;
};

namespace {

constexpr size_t kPiece = 1 << 18;

class GzipCompressor : public Compressor {
 public:
  GzipCompressor() : level_buffer_(ISAL_DEF_LVL1_DEFAULT) {
    isal_deflate_init(&stream_);
    stream_.level = 1;
    stream_.level_buf = level_buffer_.data();
    stream_.level_buf_size = static_cast<uint32_t>(level_buffer_.size());
    stream_.gzip_flag = IGZIP_GZIP;
  }

  bool compress(std::string_view text, bool last, std::string& out) override {
    std::vector<uint8_t> input(text.begin(), text.end());  // ISA-L wants its input mutable
    stream_.next_in = input.data();
    stream_.avail_in = static_cast<uint32_t>(input.size());
    stream_.end_of_stream = last ? 1 : 0;
    stream_.flush = NO_FLUSH;
    std::vector<uint8_t> piece(kPiece);
    do {
      stream_.next_out = piece.data();
      stream_.avail_out = static_cast<uint32_t>(piece.size());
      if (isal_deflate(&stream_) != COMP_OK) return false;
      out.append(piece.begin(), piece.end() - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return true;
  }

 private:
  isal_zstream stream_{};
  std::vector<uint8_t> level_buffer_;
};

class ZstdCompressor : public Compressor {
 public:
  ZstdCompressor() : context_(ZSTD_createCCtx()) {
    if (context_ == nullptr) throw std::bad_alloc();
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, 1);
  }
  ~ZstdCompressor() override { ZSTD_freeCCtx(context_); }
  ZstdCompressor(const ZstdCompressor&) = delete;
  ZstdCompressor& operator=(const ZstdCompressor&) = delete;

  bool compress(std::string_view text, bool last, std::string& out) override {
    ZSTD_inBuffer input{text.data(), text.size(), 0};
    std::vector<char> piece(kPiece);
    for (bool more = true; more;) {
      ZSTD_outBuffer output{piece.data(), piece.size(), 0};
      const size_t left = ZSTD_compressStream2(context_, &output, &input, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) return false;
      out.append(piece.data(), output.pos);
      more = last ? left != 0 : input.pos < input.size;
    }
    return true;
  }

 private:
  ZSTD_CCtx* context_;
};

std::unique_ptr<Compressor> make_compressor(const std::string& compression) {
  if (compression == "gzip") return std::make_unique<GzipCompressor>();
  if (compression == "zstd") return std::make_unique<ZstdCompressor>();
  return nullptr;
}

}  // namespace

std::string compression_suffix(const std::string& compression) {
  if (compression == "gzip") return ".gz";
  return compression == "zstd" ? ".zst" : "";
}

TraceSink::TraceSink(std::string path, const std::string& compression)
    : path_(std::move(path)), compressor_(make_compressor(compression)) {}
TraceSink::~TraceSink() = default;
TraceSink::TraceSink(TraceSink&&) noexcept = default;

bool TraceSink::write(std::string_view text) { return append(text, false); }

bool TraceSink::close() { return append("", true); }

bool TraceSink::append(std::string_view text, bool last) {
  if (failed_) return false;
  if (compressor_ == nullptr) {
    failed_ = !store(text);
  } else {
    std::string compressed;
    failed_ = !compressor_->compress(text, last, compressed) || !store(compressed);
  }
  return !failed_;
}

bool TraceSink::store(std::string_view bytes) {
  std::FILE* file = std::fopen(path_.c_str(), started_ ? "ab" : "wb");
  if (file == nullptr) return false;
  started_ = true;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && written;
}

}  // namespace skewscope::simulate
