#include "checked_writer.h"

#include <openssl/evp.h>

namespace skewscope::gather {
namespace {

class Sha1Writer : public Writer {
 public:
  Sha1Writer(std::shared_ptr<Writer> writer, std::string sha1)
      : writer_(std::move(writer)), sha1_(std::move(sha1)), context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha1(), nullptr);
  }

  void write(std::string_view bytes, Reply<Done> done) override {
    EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
    writer_->write(bytes, std::move(done));
  }
  void vouch() override { writer_->vouch(); }
  void finish(Reply<UploadState> done, std::shared_ptr<void> held) override {
    unsigned char digest[kSha1Bytes];
    EVP_DigestFinal_ex(context_.get(), digest, nullptr);
    // Else the store, which was given a digest that no bytes have, says so itself, once they have been written.
    if (std::string_view(reinterpret_cast<const char*>(digest), sizeof digest) == sha1_) writer_->vouch();
    writer_->finish(std::move(done), std::move(held));
  }

 private:
  std::shared_ptr<Writer> writer_;
  std::string sha1_;
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::shared_ptr<Writer> check_sha1(std::shared_ptr<Writer> writer, std::string sha1) {
  return std::make_shared<Sha1Writer>(std::move(writer), std::move(sha1));
}

}  // namespace skewscope::gather
