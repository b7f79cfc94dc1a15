#include "trace_rows.h"

#include <algorithm>
#include <charconv>

#include "src/ingest/content/row_names.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kModuleHead = "nn.Module: ";
constexpr size_t kMostTracks = size_t{1} << 20;

// 7 of "stream 7"; -1: something else.
int32_t number_after(std::string_view text, std::string_view head) {
  if (!text.starts_with(head)) return -1;
  int32_t number = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + head.size(), end, number);
  return error == std::errc() && rest == end && number >= 0 ? number : -1;
}

bool is_of_gpu(SliceClass slice_class) {
  return slice_class == SliceClass::kernel || slice_class == SliceClass::copy || slice_class == SliceClass::fill ||
         slice_class == SliceClass::gpu_annotation;
}

bool is_name_of_runtime(std::string_view name) {
  const bool driver = name.size() > 2 && name.starts_with("cu"sv) && name[2] >= 'A' && name[2] <= 'Z';
  return driver || name.starts_with("cuda"sv) || name.starts_with("hip"sv);
}

}  // namespace

TraceRows::Track& TraceRows::track_of(uint64_t uuid) {
  if (last_ != nullptr && last_uuid_ == uuid) return *last_;
  const bool full = tracks_.size() >= kMostTracks && tracks_.count(uuid) == 0;
  std::unique_ptr<Track>& track = tracks_[full ? 0 : uuid];
  if (track == nullptr) track = std::make_unique<Track>();
  last_uuid_ = uuid;
  return *(last_ = track.get());
}

void TraceRows::describe(const TrackDescription& description) {
  Track& track = track_of(description.uuid);
  track.known = true;
  track.resolved = false;
  track.parent = description.parent;
  track.is_process = description.is_process;
  if (description.process >= 0) track.process = description.process;
  if (description.thread >= 0) track.thread = description.thread;
  if (!description.name.empty()) track.name = description.name;
}

// PyTorch gives each GPU a process "GPU 0", and each stream that waits, and in its first version that works, a thread
// "stream 7" of it.
void TraceRows::resolve(Track& track) const {
  track.resolved = true;
  const auto parent = tracks_.find(track.parent);
  const bool has_parent = track.parent != 0 && parent != tracks_.end();
  const std::string_view process = has_parent ? std::string_view(parent->second->name) : std::string_view();
  track.device = number_after(process, "GPU ");
  track.stream = track.device >= 0 ? number_after(track.name, "stream ") : -1;
  track.is_nothing = process == "Overhead";
  if (track.process < 0 && has_parent) track.process = parent->second->process;
}

void TraceRows::begin(uint64_t uuid, int64_t ns, const EventFacts& facts) {
  Track& track = track_of(uuid);
  ++open_;
  track.slices.begin(ns, facts);
}

void TraceRows::end(uint64_t uuid, int64_t ns) {
  Track& track = track_of(uuid);
  track.slices.end(ns, [&](int64_t start, int64_t end, const EventFacts& facts) { keep(track, start, end, facts); });
}

void TraceRows::stage(int64_t ns, int64_t duration_ns, int64_t process, const EventFacts& facts) {
  if (process_ < 0) process_ = process;
  gpu_.push_back({{ns}, std::min(duration_ns, kFurthestNs - ns), nullptr, facts});
}

void TraceRows::finish() {
  int64_t strays = 0;
  for (auto& entry : tracks_) {
    Track& track = *entry.second;
    track.slices.finish([&](int64_t start, int64_t end, const EventFacts& facts) { keep(track, start, end, facts); });
    strays += track.slices.strays();
  }
  if (strays > 0) defects_.add(Defect::open_event, -1, strays);
}

const TraceRows::NameFacts& TraceRows::name_facts(StringId name) {
  if (name.index() >= names_.size()) names_.resize(tables_.texts.size() + names_.size() / 2 + 1);
  NameFacts& facts = names_[name.index()];
  if (facts.known) return facts;
  const std::string_view text = tables_.texts.view(name);
  facts.known = true;
  facts.synchronizes = synchronizes(text);
  facts.waits_for_device = waits_for_device(text);
  facts.launches = !never_launches(text);
  facts.role = role_of_launch(text);
  facts.step = profiler_step(text);
  facts.backward = is_backward_op(text);
  facts.optimizer = is_optimizer_step(text);
  facts.is_call_of_runtime = is_name_of_runtime(text);
  facts.of_collective = is_collective_range(text) || is_collective_op(text);
  facts.module = text.starts_with(kModuleHead) ? text.substr(kModuleHead.size()) : module_of_annotation(text);
  const bool range_of_fsdp = text.starts_with("FSDP::"sv);
  facts.is_operator = !range_of_fsdp && (text.find("::") != std::string_view::npos || is_collective_op(text));
  return facts;
}

SliceClass TraceRows::class_of(const Track& track, const EventFacts& facts) {
  if (facts.slice_class != SliceClass::open) return facts.slice_class;
  if (track.is_nothing) return SliceClass::nothing;
  const std::string_view text = tables_.texts.view(facts.name);
  if (track.stream >= 0) {
    if (text.starts_with("Memcpy"sv)) return SliceClass::copy;
    if (text.starts_with("Memset"sv)) return SliceClass::fill;
    return facts.correlation >= 0 ? SliceClass::kernel : SliceClass::gpu_annotation;
  }
  const NameFacts& name = name_facts(facts.name);
  if (name.is_call_of_runtime && facts.correlation >= 0) return SliceClass::call;
  return facts.is_operator || name.is_operator || name.backward ? SliceClass::op : SliceClass::annotation;
}

void TraceRows::keep(Track& track, int64_t start_ns, int64_t end_ns, const EventFacts& facts) {
  if (!track.resolved) resolve(track);
  if (end_ns < start_ns) defects_.add(Defect::negative_duration, -1);
  Slice slice{{start_ns}, std::max<int64_t>(end_ns - start_ns, 0), &track, facts};
  slice.facts.slice_class = class_of(track, facts);
  rocm_ |= facts.of_rocm;
  if (is_of_gpu(slice.facts.slice_class)) {
    if (slice.facts.device < 0) slice.facts.device = track.device;
    if (slice.facts.stream < 0) slice.facts.stream = track.stream;
    gpu_.push_back(slice);
    return;
  }
  const NameFacts& name = name_facts(facts.name);
  bool useful = tables_.details;
  switch (slice.facts.slice_class) {
    case SliceClass::call:
      useful |= name.synchronizes || (name.launches && facts.correlation >= 0);
      if (facts.correlation >= 0) process_ = track.process;
      break;
    case SliceClass::sync:
      useful = facts.waits_on_stream >= 0 || facts.recorded_by >= 0;
      break;
    case SliceClass::nothing:
      useful = false;
      break;
    default:
      useful |= slice.facts.slice_class == SliceClass::rccl || name.step >= 0 || name.of_collective ||
                !name.module.empty() || name.backward || name.optimizer;
  }
  if (useful) host_.push_back(slice);
}

int64_t TraceRows::bytes() const {
  return static_cast<int64_t>((gpu_.capacity() + host_.capacity()) * sizeof(Slice) +
                              names_.capacity() * sizeof(NameFacts) + tracks_.size() * (sizeof(Track) + 64)) +
         open_ * static_cast<int64_t>(sizeof(EventFacts) + 16);
}

}  // namespace skewscope::ingest
