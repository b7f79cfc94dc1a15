#include "memory.h"

#include <algorithm>

#include "skewscope/protocol/names.h"
#include "src/gather/disk/spool_paths.h"

namespace skewscope::gather {
namespace {

// Those of a job and of the other runs of its name, with those that are on their way.
int64_t files_of_name(const JobTable& jobs, const std::string& name) {
  int64_t files = 0;
  for (const Job* run : jobs.runs_of(name_of_run(name))) {
    files += run->open_uploads;
    for (const auto& [capture, of_capture] : run->files) files += std::ssize(of_capture);
  }
  return files;
}

// Whether it is now another time from when to when files of that capture were written.
bool stretch(std::map<int, Written>& of_captures, int capture, Time at) {
  const auto [found, made] = of_captures.try_emplace(capture, Written{at, at});
  Written& written = found->second;
  const bool within = !made && written.first <= at && at <= written.last;
  written = {std::min(written.first, at), std::max(written.last, at)};
  return !within;
}

}  // namespace

void Memory::take_over(Recovered& recovered, FileSystem& disk) {
  figures.recovery_seconds = recovered.seconds;
  figures.lost_files = recovered.lost_files;
  figures.quarantined = recovered.quarantined;
  for (const JobRow& row : recovered.jobs) {
    Job& job = jobs.all()[row.name];
    job.row = row;
    job.stands = true;
  }
  const auto job_of = [&](const std::string& name) -> Job& {
    Job& job = jobs.all()[name];
    job.row.name = name;  // where its own row made no sense
    return job;
  };
  for (const FileRow& row : recovered.files) {
    Job& job = job_of(row.job);
    budget.add_file(job, row);
    if (!is_dump(row.capture)) job.highest_rank = std::max(job.highest_rank, row.last_rank());
    job.row.last_byte = std::max(job.row.last_byte, row.committed_at);
    ++job.generations[row.capture][row.generation];
    job.files[row.capture].emplace(row.rank, row);
    ++figures.files;
  }
  for (const UploadRow& row : recovered.uploads) {
    const auto upload = std::make_shared<Upload>(disk, part_path(row));
    const UploadMetadata& metadata = row.asked.metadata;
    upload->row = row;
    upload->entry_durable = row.durable > 0;
    Job& job = job_of(metadata.job);
    ++job.uploads;
    if (is_open(row)) {
      budget.take_over(job, row.asked.uid, upload->charged, row.asked.length.value_or(row.durable));
      ++job.open_uploads;
      ++figures.open_uploads;
      ++job.open_of_capture[metadata.capture];
      if (row.stage == UploadStage::growing) job.growing[{metadata.capture, metadata.rank}] = row.id;
      if (row.stage == UploadStage::growing && row.durable > 0) show(row);
      if (row.durable > 0) job.row.last_byte = std::max(job.row.last_byte, row.progress);
    }
    if (row.stage == UploadStage::complete) job.remembered[{metadata.capture, metadata.rank}] = row.id;
    uploads.emplace(row.id, upload);
  }
  for (const ReportRow& row : recovered.reports) {
    Job& job = job_of(row.job);
    budget.charge_reports(job, static_cast<int64_t>(row.bytes));
    job.reports.emplace(row.generation, row);
  }
  for (auto& [name, job] : jobs.all()) count_tries(job);
  jobs.put_next_epochs(std::move(recovered.next_epochs));
}

UploadPointer Memory::find(const std::string& id) const {
  const auto found = uploads.find(id);
  return found == uploads.end() ? nullptr : found->second;
}

std::string Memory::log_of(const UploadMetadata& metadata) const {
  const Job* job = jobs.standing(metadata.job);
  const auto log =
      job == nullptr ? decltype(job->growing)::const_iterator() : job->growing.find({metadata.capture, metadata.rank});
  return job == nullptr || log == job->growing.end() ? "" : log->second;
}

Refusal Memory::admit(const NewUpload& asked, const GatherLimits& most, const FileRow*& same) const {
  const UploadMetadata& metadata = asked.metadata;
  const Job* job = jobs.find(metadata.job);
  if (job != nullptr && job->row.deleting) return Refusal::unavailable;
  if (asked.length.value_or(0) > most.largest_file) return Refusal::too_large;
  if (job != nullptr && job->growing.count({metadata.capture, metadata.rank}) > 0) return Refusal::other_content;
  const FileRow* file = jobs.file(metadata.job, metadata.capture, metadata.rank);
  if (file != nullptr && metadata.grows) return Refusal::other_content;
  if (file != nullptr && metadata.sha256) {
    if (*metadata.sha256 == file->digest) {
      same = file;
      return asked.length.value_or(file->size) == file->size ? Refusal::none : Refusal::wrong_digest;
    }
    if (!metadata.replace) return Refusal::other_content;
  }
  if (file == nullptr && files_of_name(jobs, metadata.job) >= most.files_per_job) return Refusal::quota;
  if (figures.open_uploads >= static_cast<uint64_t>(most.open_uploads)) return Refusal::too_many;
  int open = 0;
  for (const Job* run : jobs.runs_of(name_of_run(metadata.job))) open += run->open_uploads;
  if (job == nullptr && open == 0) return Refusal::none;
  const int ranks = job == nullptr ? 0 : expected_of(*job, job->row), half = std::max(1, most.open_uploads / 2);
  const int most_open = ranks == 0 ? half : std::min(half, std::max(16, 2 * ranks));
  return open < most_open ? Refusal::none : Refusal::too_many;
}

Refusal Memory::enter(const UploadPointer& upload, const GatherLimits& most, bool& of_new_job) {
  const NewUpload& asked = upload->row.asked;
  const UploadMetadata& metadata = asked.metadata;
  Job& job = jobs.make(metadata.job, asked.uid, upload->row.created, of_new_job);
  if (is_open(upload->row)) {
    const Refusal refusal = budget.charge(job, asked.uid, upload->charged, asked.length.value_or(0), most);
    if (refusal != Refusal::none) {
      if (of_new_job) jobs.forget(metadata.job);
      return refusal;
    }
    ++job.open_uploads;
    ++figures.open_uploads;
    ++job.open_of_capture[metadata.capture];
    if (metadata.grows) job.growing[{metadata.capture, metadata.rank}] = upload->row.id;
  }
  ++job.uploads;
  if (metadata.world_size) {
    const int size = *metadata.world_size;
    JobRow row = job.row;
    row.least_world_size = row.least_world_size == 0 ? size : std::min(row.least_world_size, size);
    row.most_world_size = std::max(row.most_world_size, size);
    upload->widens = expects_other_files(job, row);
    job.row = std::move(row);
  }
  if (asked.written) upload->stretches = stretch(job.row.written, metadata.capture, *asked.written);
  uploads.emplace(upload->row.id, upload);
  return Refusal::none;
}

void Memory::close(Upload& upload) {
  const UploadMetadata& metadata = upload.row.asked.metadata;
  Job* job = is_open(upload.row) ? jobs.find(metadata.job) : nullptr;
  if (job == nullptr) return;
  budget.release(*job, upload.row.asked.uid, upload.charged);
  --job->open_uploads;
  const auto open = job->open_of_capture.find(metadata.capture);
  if (--open->second == 0) job->open_of_capture.erase(open);
  if (metadata.grows) job->growing.erase({metadata.capture, metadata.rank});
  --figures.open_uploads;
}

void Memory::forget(Upload& upload) {
  if (upload.gone) return;
  close(upload);
  upload.gone = true;
  uploads.erase(upload.row.id);
  const UploadMetadata& metadata = upload.row.asked.metadata;
  Job* job = jobs.find(metadata.job);
  if (job == nullptr) return;
  const auto known = job->remembered.find({metadata.capture, metadata.rank});
  if (known != job->remembered.end() && known->second == upload.row.id) job->remembered.erase(known);
  --job->uploads;
  const bool is_needed = job->stands || job->uploads > 0 || job->row.deleting;  // by who deletes it
  if (!is_needed) jobs.forget(metadata.job);
}

// What was replaced stays charged to the job and its owner: it lies in quarantine.
void Memory::take_in(const FileRow& file, const std::optional<FileRow>& replaced) {
  Job& job = jobs.at(file.job);
  budget.add_file(job, file);
  auto& generations = job.generations[file.capture];
  if (replaced) {
    budget.remove_file(job, *replaced);
    budget.charge_aside(job, static_cast<int64_t>(replaced->size));
    ++figures.quarantined;
    if (--generations[replaced->generation] == 0) generations.erase(replaced->generation);
  } else {
    ++figures.files;
  }
  ++generations[file.generation];
  job.files[file.capture][file.rank] = file;
  if (!is_dump(file.capture)) job.highest_rank = std::max(job.highest_rank, file.last_rank());
  ++job.row.arrivals;
  job.row.last_arrival = std::max(job.row.last_arrival, file.committed_at);
  job.row.last_byte = std::max(job.row.last_byte, file.committed_at);
  ++figures.commits;
}

void Memory::show(const UploadRow& log) {
  const UploadMetadata& metadata = log.asked.metadata;
  Job& job = jobs.at(metadata.job);
  const auto [found, is_new] = job.files[metadata.capture].try_emplace(metadata.rank);
  FileRow& file = found->second;
  if (is_new) {
    file.job = metadata.job;
    file.capture = metadata.capture;
    file.rank = metadata.rank;
    file.suffix = kGrowingSuffix;
    file.uid = log.asked.uid;
    file.client = log.asked.client;
    file.filename = metadata.filename;
    file.grows = true;
    ++figures.files;
    ++job.generations[metadata.capture][file.generation];
    job.highest_rank = std::max(job.highest_rank, metadata.rank);
  }
  job.bytes += log.durable - file.size;
  file.size = log.durable;
}

void Memory::grow(const UploadRow& log, Time at) {
  Job* job = jobs.find(log.asked.metadata.job);
  if (job == nullptr) return;
  show(log);
  ++job->row.arrivals;
  job->row.last_arrival = std::max(job->row.last_arrival, at);
}

void Memory::note_byte(const std::string& name, Time at) {
  if (Job* job = jobs.find(name)) job->row.last_byte = std::max(job->row.last_byte, at);
}

void Memory::charge_aside(const std::string& name, int64_t bytes) {
  if (Job* job = jobs.find(name)) budget.charge_aside(*job, bytes);
}

void Memory::remove_job(const std::string& name) {
  const Job& job = jobs.at(name);
  for (const auto& [capture, files] : job.files) figures.files -= files.size();
  budget.remove_job(job);
  jobs.remove(name);
}

}  // namespace skewscope::gather
