// A Store on a folder of the test's own, asked and answered in turn.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>

#include "skewscope/gather.h"
#include "src/gather/kept/store.h"
#include "tests/temporary_folder.h"

namespace skewscope::gather::test {

inline const std::string kTrace = R"({"traceEvents": []})";

// Waits for the answer of a call: `answer_of<UploadState>([&](auto done) { store.create(upload, done); })`.
template <class T, class Call>
Outcome<T> answer_of(const Call& call) {
  const auto promise = std::make_shared<std::promise<Outcome<T>>>();
  call(Reply<T>([promise](Outcome<T> outcome) { promise->set_value(std::move(outcome)); }));
  return promise->get_future().get();
}

inline NewUpload upload_of(const std::string& job, int rank, std::optional<uint64_t> length) {
  NewUpload out;
  out.metadata.job = job;
  out.metadata.rank = rank;
  out.metadata.filename = "rank" + std::to_string(rank) + ".json";
  out.length = length;
  out.uid = 1000;
  out.client = "10.0.0.1";
  return out;
}

class Asking {
 public:
  explicit Asking(Store& store) : store_(store) {}

  Outcome<UploadState> create(const NewUpload& upload) {
    return answer_of<UploadState>([&](auto done) { store_.create(upload, done); });
  }
  Outcome<UploadState> state(const std::string& id) {
    return answer_of<UploadState>([&](auto done) { store_.state(id, done); });
  }
  Outcome<std::shared_ptr<Writer>> append(const std::string& id, uint64_t offset,
                                          std::optional<Digest> checksum = std::nullopt,
                                          std::optional<uint64_t> length = std::nullopt,
                                          const std::function<void()>& evicted = nullptr) {
    return answer_of<std::shared_ptr<Writer>>(
        [&](auto done) { store_.append(id, offset, length, checksum, evicted, done); });
  }
  Outcome<Done> promise(const std::string& id, const Digest& digest) {
    return answer_of<Done>([&](auto done) { store_.promise_digest(id, digest, done); });
  }
  Outcome<Done> remove(const std::string& id) {
    return answer_of<Done>([&](auto done) { store_.remove(id, done); });
  }
  Outcome<JobState> put_job(const std::string& job, const JobSettings& settings) {
    return answer_of<JobState>([&](auto done) { store_.put_job(job, settings, done); });
  }
  Outcome<JobState> end_job(const std::string& job) {
    return answer_of<JobState>([&](auto done) { store_.end_job(job, done); });
  }
  Outcome<JobState> raise_epoch(const std::string& job) {
    return answer_of<JobState>([&](auto done) { store_.raise_epoch(job, done); });
  }
  Outcome<Done> delete_job(const std::string& job) {
    return answer_of<Done>([&](auto done) { store_.delete_job(job, "10.0.0.1", done); });
  }
  Outcome<Store::ReportFolders> begin_report(const std::string& job) {
    return answer_of<Store::ReportFolders>([&](auto done) { store_.begin_report(job, done); });
  }
  Outcome<JobState> end_report(const std::string& job, int generation, int exit_code) {
    return answer_of<JobState>([&](auto done) { store_.end_report(job, generation, exit_code, done); });
  }

  // One request: all of `bytes` at `offset`. At the end of the upload the answer is that of its commit.
  Outcome<UploadState> patch(const std::string& id, uint64_t offset, std::string_view bytes,
                             std::optional<Digest> checksum = std::nullopt) {
    const Outcome<std::shared_ptr<Writer>> writer = append(id, offset, checksum);
    if (writer.refusal != Refusal::none) return {writer.refusal, {}};
    const Outcome<Done> wrote = answer_of<Done>([&](auto done) { writer.value->write(bytes, done); });
    if (wrote.refusal != Refusal::none) return {wrote.refusal, {}};
    return answer_of<UploadState>([&](auto done) { writer.value->finish(done, nullptr); });
  }
  // A whole file at once.
  Outcome<UploadState> put(NewUpload upload, std::string_view bytes) {
    upload.length = bytes.size();
    Outcome<UploadState> made = create(upload);
    if (made.refusal != Refusal::none || made.value.complete) return made;
    return patch(made.value.id, 0, bytes);
  }
  Outcome<UploadState> put(const std::string& job, int rank, std::string_view bytes) {
    return put(upload_of(job, rank, bytes.size()), bytes);
  }
  // What the job has for a rank; "" when it has nothing.
  std::string content(const std::string& job, int rank, int capture = 0) {
    const Outcome<StoredFile> file = store_.read(job, capture, rank);
    if (file.refusal != Refusal::none) return "";
    std::string bytes(file.value.size, '\0');
    const ssize_t got = ::pread(file.value.fd, bytes.data(), bytes.size(), 0);
    ::close(file.value.fd);
    return got == static_cast<ssize_t>(bytes.size()) ? bytes : "cannot be read";
  }

 private:
  Store& store_;
};

// A spool in a temporary folder that can be closed and opened again.
struct Spool {
  skewscope::test::Folder folder;
  StoreOptions options;
  std::atomic<int64_t> clock{1'700'000'000};
  std::atomic<int> failures{0};
  std::unique_ptr<Store> store;

  explicit Spool(const std::string& name) : folder("spool_" + name) {
    std::filesystem::create_directories(folder.path);
    options.spool = folder.path.string();
    options.limits.reserved_disk = 0;
    options.retention.trash_age = {};
    options.limits.soft_disk = options.limits.hard_disk = 1.01;
    options.now = [this] { return Time(std::chrono::seconds(clock)); };
    options.failed = [this](const std::string&) { ++failures; };
    open();
  }
  void open() {
    store.reset();
    Result<std::unique_ptr<Store>> opened = Store::open(options);
    error = opened.ok() ? "" : opened.error().message;
    if (opened.ok()) store = std::move(opened).value();
  }
  void close() { store.reset(); }
  Asking ask() { return Asking(*store); }
  std::filesystem::path path(const std::string& inside) const { return folder.path / inside; }

  std::string error;
};

inline void overwrite(const std::filesystem::path& path, std::streamoff offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(offset);
  file << bytes;
}

// Whether it comes to hold; not asked again then. A minute is for machines that are loaded: what holds is seen at once.
template <class Condition>
bool eventually(const Condition& holds) {
  for (int i = 0; i < 6000; ++i) {
    if (holds()) return true;
    usleep(10'000);
  }
  return false;
}

inline bool has_file_in(const std::filesystem::path& folder) {
  std::error_code missing;
  const std::filesystem::directory_iterator entries(folder, missing);
  return !missing && entries != std::filesystem::directory_iterator();
}

// What check_spool() says of it, once closed.
inline std::vector<std::string> problems_of(Spool& spool, bool repair = false) {
  spool.close();
  const Result<SpoolCheck> check = check_spool(spool.options.spool, repair);
  if (!check.ok()) return {check.error().message};
  CHECK(check.value().to_do.empty());
  return check.value().problems;
}

}  // namespace skewscope::gather::test
