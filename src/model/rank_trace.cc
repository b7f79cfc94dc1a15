#include "skewscope/model/rank_trace.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "at_row.h"

namespace skewscope {
namespace {

std::string check_gpu(const GpuEvents& gpu, size_t launches) {
  const size_t n = gpu.size();
  if (gpu.duration_ns.size() != n || gpu.work.size() != n || gpu.name.size() != n || gpu.device.size() != n ||
      gpu.stream.size() != n || gpu.launch.size() != n) {
    return "GPU columns differ in length";
  }
  for (size_t i = 0; i < n; ++i) {
    if (gpu.duration_ns[i] < 0) return at_row("negative GPU duration", i);
    if (gpu.launch[i] < -1 || gpu.launch[i] >= static_cast<int64_t>(launches)) return at_row("launch out of range", i);
    if (i > 0 && std::make_tuple(gpu.start[i - 1], -gpu.duration_ns[i - 1]) >
                     std::make_tuple(gpu.start[i], -gpu.duration_ns[i])) {
      return at_row("GPU rows not sorted by (start, longest first)", i);
    }
  }
  return "";
}

std::string check_launches(const RankTrace& trace) {
  const LaunchEvents& launches = trace.launches;
  const size_t threads = launches.has_threads ? launches.size() : 0;
  if (launches.duration_ns.size() != launches.size() || launches.thread.size() != threads) {
    return "launch columns differ in length";
  }
  std::vector<bool> used(launches.size(), false);
  for (const int32_t launch : trace.gpu.launch) {
    if (launch >= 0) used[static_cast<size_t>(launch)] = true;
  }
  for (size_t i = 0; i < launches.size(); ++i) {
    if (launches.duration_ns[i] < 0) return at_row("negative launch duration", i);
    if (!used[i]) return at_row("launch that no GPU row refers to", i);
    if (i > 0 && launches.start[i - 1] > launches.start[i]) return at_row("launches not sorted by start", i);
  }
  return "";
}

std::string check_calls(const RankTrace& trace) {
  for (size_t i = 0; i < trace.calls.size(); ++i) {
    const CollectiveCall& call = trace.calls[i];
    if (call.duration_ns < 0) return at_row("negative call duration", i);
    if (call.gpu_row < -1 || call.gpu_row >= static_cast<int64_t>(trace.gpu.size())) {
      return at_row("GPU row of a call out of range", i);
    }
    if (call.gpu_row >= 0 && trace.gpu.start[static_cast<size_t>(call.gpu_row)] != call.start) {
      return at_row("call starts elsewhere than its GPU row", i);
    }
    if (!call.launched && call.launch_start != call.start) return at_row("launch time of a call without launch", i);
    if (i == 0) continue;
    const CollectiveCall& before = trace.calls[i - 1];
    if (std::make_tuple(before.start, before.end(), before.stream) >
        std::make_tuple(call.start, call.end(), call.stream)) {
      return at_row("calls not sorted by (start, end, stream)", i);
    }
  }
  return "";
}

std::string check_synchronizing(const RankTrace& trace) {
  for (size_t i = 0; i < trace.synchronizing.size(); ++i) {
    if (trace.synchronizing[i].duration_ns < 0) return at_row("negative duration of a synchronizing call", i);
    if (i > 0 && trace.synchronizing[i - 1].start > trace.synchronizing[i].start) {
      return at_row("synchronizing calls not sorted by start", i);
    }
  }
  return "";
}

std::string check_stream_waits(const RankTrace& trace) {
  for (size_t i = 0; i < trace.stream_waits.size(); ++i) {
    const StreamWait& wait = trace.stream_waits[i];
    if (wait.recorded > wait.start) return at_row("wait for an event that is recorded later", i);
    if (i > 0 && trace.stream_waits[i - 1].start > wait.start) return at_row("waits on streams not sorted by start", i);
  }
  return "";
}

std::string check_messages(const RankTrace& trace) {
  for (size_t i = 0; i < trace.messages.size(); ++i) {
    const BatchMessage& message = trace.messages[i];
    if (message.call < 0 || message.call >= std::ssize(trace.calls)) return at_row("call of a message out of range", i);
    if (trace.calls[static_cast<size_t>(message.call)].kind != CollectiveKind::coalesced) {
      return at_row("message of a call that is no batch", i);
    }
    if (i > 0 && trace.messages[i - 1].call > message.call) return at_row("messages not sorted by call", i);
  }
  return "";
}

std::string check_splits(const RankTrace& trace) {
  for (size_t i = 0; i < trace.splits.size(); ++i) {
    const SplitPart& part = trace.splits[i];
    if (part.call < 0 || part.call >= std::ssize(trace.calls)) return at_row("call of a part out of range", i);
    if (trace.calls[static_cast<size_t>(part.call)].kind != CollectiveKind::all_to_all) {
      return at_row("part of a call that is no all-to-all", i);
    }
    if (i > 0 && trace.splits[i - 1].call > part.call) return at_row("parts not sorted by call", i);
  }
  return "";
}

template <class Visit>
void for_each_launch_column(RankTrace& trace, const Visit& visit) {
  for_each_column(trace.launches, visit);
  visit(trace.synchronizing);
  visit(trace.stream_waits);
  visit(trace.gpu.device);
  visit(trace.gpu.stream);
  visit(trace.gpu.launch);
}

template <class Visit>
void for_each_row_column(RankTrace& trace, const Visit& visit) {
  visit(trace.gpu.start);
  visit(trace.gpu.duration_ns);
  visit(trace.gpu.work);
  visit(trace.gpu.name);
}

}  // namespace

const char* to_string(JobVendor vendor) {
  switch (vendor) {
    case JobVendor::unknown:
      return "";
    case JobVendor::nvidia:
      return "nvidia";
    case JobVendor::amd:
      return "amd";
    case JobVendor::intel:
      return "intel";
    case JobVendor::cpu:
      return "cpu";
    case JobVendor::mixed:
      return "mixed";
  }
  return "";
}

const char* to_string(MetadataSource source) {
  switch (source) {
    case MetadataSource::kernel_args:
      return "kernel_args";
    case MetadataSource::record_param_comms:
      return "record_param_comms";
    case MetadataSource::annotation:
      return "annotation";
    case MetadataSource::kernel_name:
      return "kernel_name";
  }
  return "kernel_name";
}

namespace {

// Eight bytes at a time; the last word of a longer text overlaps the one before it.
uint64_t mixed(uint64_t hash, std::string_view text) {
  constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;
  constexpr size_t kWord = sizeof(uint64_t);
  const auto add = [&](uint64_t word) {
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;
  };
  const auto word_at = [&](size_t at) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, kWord);
    return word;
  };
  hash ^= text.size();
  if (text.size() < kWord) {
    uint64_t word = 0;
    for (const char c : text) word = word << 8 ^ static_cast<unsigned char>(c);
    add(word);
    return hash;
  }
  for (size_t at = 0; at + kWord < text.size(); at += kWord) add(word_at(at));
  add(word_at(text.size() - kWord));
  return hash;
}

}  // namespace

uint32_t kernel_number(std::string_view name) { return static_cast<uint32_t>(mixed(1, name)); }
uint16_t grid_number(std::string_view grid) {
  return grid.empty() ? 0 : std::max<uint16_t>(1, static_cast<uint16_t>(mixed(1, grid)));
}

std::vector<KernelGrid> longest_grids(std::vector<KernelGrid> all) {
  constexpr int64_t kLeastPart = 1000, kNsPerUs = 1000;
  int64_t whole_ns = 0;
  for (const KernelGrid& one : all) whole_ns += one.ns;
  std::erase_if(all, [&](const KernelGrid& one) { return one.ns < whole_ns / kLeastPart; });
  const auto number = [](const KernelGrid& one) { return std::tie(one.kernel, one.grid, one.rows, one.ns); };
  std::sort(all.begin(), all.end(), [&](const KernelGrid& a, const KernelGrid& b) {
    return a.ns == b.ns ? number(a) < number(b) : a.ns > b.ns;
  });
  all.resize(std::min(all.size(), kMostKernelGrids));
  for (KernelGrid& one : all) one.ns = (one.ns + kNsPerUs / 2) / kNsPerUs * kNsPerUs;
  std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return number(a) < number(b); });
  return all;
}

const char* to_string(CallPhase phase) {
  constexpr const char* kNames[] = {"", "forward", "backward", "optimizer"};
  return kNames[static_cast<size_t>(phase)];
}

std::vector<int32_t> calls_beside_gpu(const RankTrace& trace) {
  std::vector<int32_t> calls;
  if (trace.gpu.size() == 0) return calls;
  for (size_t c = 0; c < trace.calls.size(); ++c) {
    if (trace.calls[c].gpu_row < 0) calls.push_back(static_cast<int32_t>(c));
  }
  return calls;
}

std::span<const BatchMessage> messages_of(const RankTrace& trace, int32_t call) {
  const auto [begin, end] = std::equal_range(
      trace.messages.begin(), trace.messages.end(), BatchMessage{call, false, Rank(), DType::unknown, -1},
      [](const BatchMessage& a, const BatchMessage& b) { return a.call < b.call; });
  return {begin, end};
}

std::span<const SplitPart> splits_of(const RankTrace& trace, int32_t call) {
  const auto [begin, end] = std::equal_range(trace.splits.begin(), trace.splits.end(), SplitPart{call},
                                             [](const SplitPart& a, const SplitPart& b) { return a.call < b.call; });
  return {begin, end};
}

void forget_threads(RankTrace& trace) {
  trace.launches.thread = Column<int64_t>();
  trace.launches.has_threads = false;
}

void forget_messages(RankTrace& trace) { trace.messages = Column<BatchMessage>(); }

void forget_splits(RankTrace& trace) { trace.splits = Column<SplitPart>(); }

void forget_launches(RankTrace& trace) {
  for_each_launch_column(trace, []<class T>(Column<T>& column) { column = Column<T>(); });
}

void forget_rows(RankTrace& trace) {
  forget_launches(trace);
  for_each_row_column(trace, []<class T>(Column<T>& column) { column = Column<T>(); });
}

void TracePacker::pack(RankTrace& trace) {
  for_each_launch_column(trace, [&](auto& column) { launching_.pack(column); });
  for_each_row_column(trace, [&](auto& column) { rows_.pack(column); });
  staying_.pack(trace.calls);
  messages_.pack(trace.messages);
  splits_.pack(trace.splits);
}

std::string check_invariants(const RankTrace& trace) {
  if (std::string broken = check_gpu(trace.gpu, trace.launches.size()); !broken.empty()) return broken;
  if (std::string broken = check_launches(trace); !broken.empty()) return broken;
  if (std::string broken = check_synchronizing(trace); !broken.empty()) return broken;
  if (std::string broken = check_stream_waits(trace); !broken.empty()) return broken;
  for (size_t i = 1; i < trace.steps.size(); ++i) {
    if (trace.steps[i - 1].start > trace.steps[i].start) return at_row("steps not sorted by start", i);
  }
  if (trace.first_event > trace.last_event) return "first event after last event";
  if (std::string broken = check_calls(trace); !broken.empty()) return broken;
  if (std::string broken = check_messages(trace); !broken.empty()) return broken;
  return check_splits(trace);
}

}  // namespace skewscope
