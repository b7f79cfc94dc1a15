#include "model.h"

#include "src/gather/recovery/recovery.h"

namespace skewscope::gather::test {

StoreOptions memory_options(MemoryDisk& disk) {
  StoreOptions options;
  options.spool = MemoryDisk::kSpool;
  options.files = &disk;
  options.database_vfs = disk.vfs();
  options.file_threads = 1;
  options.limits.reserved_disk = 0;
  options.now = [] { return Time(std::chrono::seconds(MemoryDisk::kAlways)); };
  return options;
}

void Model::run(Store& store, MemoryDisk& disk, const std::vector<Step>& script) {
  Asking ask(store);
  for (const Step& step : script) {
    if (!disk.has_power()) return;
    switch (step.kind) {
      case Step::put:
        put(ask, step, false, false);
        break;
      case Step::put_again:
        put(ask, step, false, true);
        break;
      case Step::replace:
        put(ask, step, true, false);
        break;
      case Step::create:
        create(ask, step);
        break;
      case Step::append:
      case Step::append_checked:
      case Step::append_broken:
        append(ask, step);
        break;
      case Step::remove:
        remove(ask, step);
        break;
      case Step::settings:
        settings(ask, step);
        break;
      case Step::delete_job:
        delete_job(ask, step);
        break;
      case Step::report:
        report(ask, disk, step);
        break;
    }
  }
}

// No two files have the same bytes, and no part of one is found in another.
std::string Model::content_for(const Key& key, size_t bytes) {
  std::string out;
  ++sent_;
  for (int line = 0; out.size() < bytes; ++line) {
    out +=
        key.first + "/" + std::to_string(key.second) + "#" + std::to_string(sent_) + ":" + std::to_string(line) + "\n";
  }
  out.resize(bytes);
  return out;
}

void Model::arrived(const Key& key, const std::string& content) {
  Kept& kept = kept_[key];
  kept.told = content;
  kept.told_any = true;
  kept.sent = {content};
  may_go_.erase(key.first);
  // One upload that completed is known of each file.
  for (Sending& sending : sendings_) sending.may_go = sending.may_go || (sending.key == key && sending.complete);
}

void Model::put(Asking& ask, const Step& step, bool replace, bool same) {
  const Key key(step.job, step.rank);
  const std::string content = same ? kept_[key].told : content_for(key, step.bytes);
  NewUpload upload = upload_of(step.job, step.rank, content.size());
  upload.metadata.replace = replace;
  upload.metadata.sha256 = sha256(content);
  upload.one_request = step.one_request;
  kept_[key].sent.insert(content);
  const auto sent = ask.put(upload, content);
  if (sent.refusal == Refusal::none && sent.value.complete) arrived(key, content);
}

void Model::create(Asking& ask, const Step& step) {
  Sending sending;
  sending.key = {step.job, step.rank};
  sending.content = content_for(sending.key, step.bytes);
  const auto made = ask.create(upload_of(step.job, step.rank, step.bytes));
  if (made.refusal != Refusal::none) return;
  sending.id = made.value.id;
  may_go_.erase(step.job);
  sendings_.push_back(sending);
}

void Model::append(Asking& ask, const Step& step) {
  for (Sending& sending : sendings_) {
    if (sending.key != Key(step.job, step.rank) || sending.complete || sending.may_go) continue;
    std::string bytes = sending.content.substr(sending.told, step.bytes);
    std::optional<Digest> checksum;
    if (step.kind != Step::append) checksum = sha256(bytes);
    if (step.kind == Step::append_broken) bytes[0] = '!';
    Kept& kept = kept_[sending.key];
    const bool ends = sending.told + bytes.size() == sending.content.size();
    if (ends && !kept.sent.empty()) sending.may_go = true;  // refused at its end: the rank has another file
    kept.sent.insert(sending.content);
    const auto sent = ask.patch(sending.id, sending.told, bytes, checksum);
    if (sent.refusal != Refusal::none) return;
    sending.may_go = false;
    sending.told = sent.value.offset;
    if (sent.value.complete) arrived(sending.key, sending.content);
    sending.complete = sent.value.complete;
    return;
  }
}

void Model::remove(Asking& ask, const Step& step) {
  for (Sending& sending : sendings_) {
    if (sending.key != Key(step.job, step.rank)) continue;
    sending.may_go = true;
    ask.remove(sending.id);
  }
}

void Model::settings(Asking& ask, const Step& step) {
  JobSettings settings;
  settings.world_size = step.rank;
  wanted_world_sizes_[step.job].insert(step.rank);
  if (ask.put_job(step.job, settings).refusal == Refusal::none) {
    world_sizes_[step.job] = step.rank;
    wanted_world_sizes_[step.job] = {step.rank};
    may_go_.erase(step.job);
  }
}

void Model::delete_job(Asking& ask, const Step& step) {
  may_go_.insert(step.job);
  reports_.erase(step.job);
  world_sizes_.erase(step.job);
  for (Sending& sending : sendings_) sending.may_go = sending.may_go || sending.key.first == step.job;
  const bool gone = ask.delete_job(step.job).refusal == Refusal::none;
  for (auto& [key, kept] : kept_) {
    if (key.first != step.job) continue;
    kept.told_any = false;
    if (gone) kept.sent.clear();
  }
}

void Model::report(Asking& ask, MemoryDisk& disk, const Step& step) {
  const auto begun = ask.begin_report(step.job);
  if (begun.refusal != Refusal::none) return;
  const std::string folder = begun.value.output.substr(std::string(MemoryDisk::kSpool).size() + 1);
  disk.make_folder(folder);
  for (const char* name : {"/report.json", "/COMPLETE"}) {
    int file = -1;
    if (disk.create(folder + name, file) != 0) return;
    disk.write(file, "generation " + std::to_string(begun.value.generation), 0);
    disk.close(file);
  }
  const auto ended = ask.end_report(step.job, begun.value.generation, 0);
  if (ended.refusal == Refusal::none) reports_[step.job] = begun.value.generation;
}

void Model::check_file(Store& store, const Key& key, const Kept& kept, std::vector<std::string>& broken) const {
  const Outcome<StoredFile> there = store.read(key.first, 0, key.second);
  const std::string name = key.first + " rank " + std::to_string(key.second);
  if (there.refusal == Refusal::unknown) {
    if (kept.told_any && may_go_.count(key.first) == 0) broken.push_back(name + " was complete and is not there");
    return;
  }
  if (there.refusal != Refusal::none) return broken.push_back(name + " cannot be read");
  ::close(there.value.fd);
  const std::string content = Asking(store).content(key.first, key.second);
  if (kept.sent.count(content) == 0) broken.push_back(name + " is what nobody sent");
  if (there.value.digest != sha256(content)) broken.push_back(name + " has another digest than the one told");
}

void Model::check_upload(Store& store, const Sending& sending, std::vector<std::string>& broken) const {
  if (sending.may_go) return;
  Asking ask(store);
  const auto state = ask.state(sending.id);
  if (state.refusal != Refusal::none) {
    broken.push_back("an open upload is not known any more");
  } else if (state.value.offset < sending.told) {
    broken.push_back("an offset that was told went back");
  } else if (!state.value.complete) {
    const uint64_t offset = state.value.offset;
    const auto end = ask.patch(sending.id, offset, sending.content.substr(offset));
    const bool other = end.refusal == Refusal::other_content;
    if (!other && !(end.value.complete && end.value.digest == sha256(sending.content))) {
      broken.push_back("an upload that was taken up again does not end with its digest");
    }
  }
}

std::vector<std::string> Model::broken_promises(Store& store) const {
  std::vector<std::string> broken;
  if (store.figures().lost_files != 0) broken.push_back("files were lost");
  for (const auto& [key, kept] : kept_) check_file(store, key, kept, broken);
  for (const auto& [job, generation] : reports_) {
    const auto state = store.job(job);
    if (!state || state->report_generation < generation) {
      broken.push_back("a report is gone");
      continue;
    }
    const Outcome<StoredFile> file = store.read_report(job, generation, "report.json");
    std::string text(file.value.size, '\0');
    if (file.refusal == Refusal::none) {
      [[maybe_unused]] const ssize_t got = ::pread(file.value.fd, text.data(), text.size(), 0);
      ::close(file.value.fd);
    }
    if (text != "generation " + std::to_string(generation)) broken.push_back("a report is not what was written");
  }
  for (const auto& [job, world_size] : world_sizes_) {
    const auto state = store.job(job);
    const bool there = state && state->settings.world_size;
    if (!there || wanted_world_sizes_.at(job).count(*state->settings.world_size) == 0) {
      broken.push_back("a setting is not what was told");
    }
  }
  for (const JobState& job : store.jobs("", 1000)) {
    for (int rank = 0; rank < 16; ++rank) {
      const Outcome<StoredFile> file = store.read(job.name, 0, rank);
      if (file.refusal == Refusal::none) ::close(file.value.fd);
      if (file.refusal == Refusal::none && kept_.count({job.name, rank}) == 0) broken.push_back("a file nobody sent");
    }
  }
  for (const Sending& sending : sendings_) check_upload(store, sending, broken);
  return broken;
}

namespace {

void append_to(std::vector<std::string>& all, const std::vector<std::string>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

// An empty spool, as a first start leaves it.
const MemoryDisk& made_spool() {
  static const std::unique_ptr<MemoryDisk> spool = [] {
    MemoryDisk disk;
    { const auto store = Store::open(memory_options(disk)); }
    return disk.after_power_loss(Survives::everything, 0);
  }();
  return *spool;
}

std::vector<std::string> problems_of(MemoryDisk& disk) {
  RecoveryOptions options;
  options.spool = MemoryDisk::kSpool;
  options.database_vfs = disk.vfs();
  options.repair = false;
  options.verify = true;
  Recovered looked = recover(disk, options);
  if (!looked.manifest) return {looked.error.message};
  append_to(looked.problems, looked.to_do);
  return looked.problems;
}

}  // namespace

CrashResult crash(const std::vector<Step>& script, const Crash& how) {
  CrashResult out;
  Model model;
  std::unique_ptr<MemoryDisk> disk = made_spool().after_power_loss(Survives::everything, 0);
  {
    auto store = Store::open(memory_options(*disk));
    if (!store.ok()) return {{store.error().message}, 0};
    const uint64_t before = disk->steps();
    disk->ignore(how.ignored);
    if (how.step > 0) disk->lose_power_at(before + how.step);
    model.run(*store.value(), *disk, script);
    out.steps = disk->steps() - before;
    disk->lose_power();
  }
  disk = disk->after_power_loss(how.survives, how.seed);
  if (how.in_recovery > 0) {
    disk->lose_power_at(how.in_recovery);
    { const auto cut = Store::open(memory_options(*disk)); }
    disk->lose_power();
    disk = disk->after_power_loss(how.survives, how.seed + 1);
  }
  {
    auto store = Store::open(memory_options(*disk));
    if (!store.ok()) return {{store.error().message}, out.steps};
    append_to(out.broken, model.broken_promises(*store.value()));
  }
  append_to(out.broken, problems_of(*disk));
  return out;
}

}  // namespace skewscope::gather::test
