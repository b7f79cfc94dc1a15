// The right to append, as the HTTP side holds it: every call becomes an operation of its upload.
#pragma once

#include "spool_store.h"

namespace skewscope::gather {

class SpoolWriter : public Writer {
 public:
  SpoolWriter(std::shared_ptr<SpoolStore::Link> link, std::shared_ptr<Upload> upload, uint64_t number)
      : link_(std::move(link)), upload_(std::move(upload)), number_(number) {}
  ~SpoolWriter() override {
    const std::lock_guard lock(link_->mutex);
    if (link_->store != nullptr) link_->store->release(upload_, number_);
  }

  void write(std::string_view bytes, Reply<Done> done) override {
    const std::lock_guard lock(link_->mutex);
    if (link_->store == nullptr) return done({Refusal::unavailable, {}});
    link_->store->write(upload_, number_, bytes, done);
  }
  void vouch() override { vouched_ = true; }
  void finish(Reply<UploadState> done, std::shared_ptr<void> held) override {
    const std::lock_guard lock(link_->mutex);
    if (link_->store == nullptr) return done({Refusal::unavailable, {}});
    link_->store->finish(upload_, number_, vouched_, done, std::move(held));
  }

 private:
  std::shared_ptr<SpoolStore::Link> link_;
  std::shared_ptr<Upload> upload_;
  uint64_t number_;
  bool vouched_ = false;
};

}  // namespace skewscope::gather
