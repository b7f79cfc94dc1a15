// The right to append, as the HTTP side holds it: every call becomes an operation of its upload.
#pragma once

#include "uploads.h"

namespace skewscope::gather {

class SpoolWriter : public Writer {
 public:
  SpoolWriter(std::shared_ptr<Uploads::Link> link, UploadPointer upload, uint64_t number)
      : link_(std::move(link)), upload_(std::move(upload)), number_(number) {}
  ~SpoolWriter() override {
    const auto uploads = link_->lock();
    if (*uploads != nullptr) (*uploads)->release(upload_, number_);
  }

  void write(std::string_view bytes, Reply<Done> done) override {
    const auto uploads = link_->lock();
    if (*uploads == nullptr) return done({Refusal::unavailable, {}});
    (*uploads)->write(upload_, number_, bytes, done);
  }
  void vouch() override { vouched_ = true; }
  void finish(Reply<UploadState> done, std::shared_ptr<void> held) override {
    const auto uploads = link_->lock();
    if (*uploads == nullptr) return done({Refusal::unavailable, {}});
    (*uploads)->finish(upload_, number_, vouched_, done, std::move(held));
  }

 private:
  std::shared_ptr<Uploads::Link> link_;
  UploadPointer upload_;
  uint64_t number_;
  bool vouched_ = false;
};

}  // namespace skewscope::gather
