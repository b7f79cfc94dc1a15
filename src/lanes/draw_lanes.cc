// Problem: a picture of some ranks over all steps, names included, in a bounded number of blocks, from rows of which
// there may be millions.
// Idea: rows and gaps shorter than a resolution share a block, which keeps how long it is busy and the name of its
// longest row; a block that has grown to the resolution is closed, so that long rows stay apart. Neighbours are then
// apart by the resolution, or the first is that long: a lane holds at most two blocks per resolution. The rows are read
// once, at a resolution that would fill eight times the room; blocks are merged further, by doubling, until all lanes
// together fit. Cost: O(rows of the chosen ranks).
#include "skewscope/lanes.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "choose_ranks.h"

namespace skewscope {
namespace lanes {
namespace {

struct OpenBlock {
  WorkBlock block;
  int64_t longest_ns = 0;  // of its rows
};

// Blocks of one lane under construction: those of kernels and those of copies each by start.
class BlockMerger {
 public:
  explicit BlockMerger(int64_t resolution_ns) : resolution_ns_(resolution_ns) {}

  void add(const OpenBlock& next) {
    std::vector<OpenBlock>& blocks = blocks_[next.block.copies ? 1 : 0];
    if (!blocks.empty()) {
      WorkBlock& last = blocks.back().block;
      const int64_t gap_ns = next.block.start - (last.start + last.length_ns);
      if (gap_ns < resolution_ns_ && last.length_ns < resolution_ns_) {
        merge(blocks.back(), next, gap_ns);
        return;
      }
    }
    blocks.push_back(next);
  }
  size_t size() const { return blocks_[0].size() + blocks_[1].size(); }
  BlockMerger coarser(int64_t resolution_ns) const {
    BlockMerger merger(resolution_ns);
    for (const std::vector<OpenBlock>& blocks : blocks_) {
      for (const OpenBlock& block : blocks) merger.add(block);
    }
    return merger;
  }
  std::vector<WorkBlock> take() const {
    std::vector<WorkBlock> all;
    for (const std::vector<OpenBlock>& blocks : blocks_) {
      for (const OpenBlock& open : blocks) all.push_back(open.block);
    }
    std::stable_sort(all.begin(), all.end(), [](const WorkBlock& a, const WorkBlock& b) { return a.start < b.start; });
    return all;
  }

 private:
  static void merge(OpenBlock& last, const OpenBlock& next, int64_t gap_ns) {
    const int64_t grown_ns = std::max<int64_t>(0, gap_ns + next.block.length_ns);
    last.block.length_ns += grown_ns;
    last.block.busy_ns += std::min(grown_ns, next.block.busy_ns);
    last.block.rows += next.block.rows;
    if (next.longest_ns <= last.longest_ns) return;
    last.longest_ns = next.longest_ns;
    last.block.name = next.block.name;
  }

  int64_t resolution_ns_;
  std::array<std::vector<OpenBlock>, 2> blocks_;
};

// What this trace computed and copied. Names: numbers of texts.
BlockMerger merged_rows(const RankTrace& trace, TraceIndex index, const ClockModel& clocks, int64_t resolution_ns) {
  BlockMerger merger(resolution_ns);
  const GpuEvents& gpu = trace.gpu;
  for (size_t i = 0; i < gpu.size(); ++i) {
    if (gpu.work[i] == GpuWork::communication) continue;
    OpenBlock row;
    row.block.start = clocks.to_job(index, gpu.start[i]);
    row.block.length_ns = row.block.busy_ns = row.longest_ns = gpu.duration_ns[i];
    row.block.rows = 1;
    row.block.name = gpu.name[i].value;
    row.block.copies = gpu.work[i] != GpuWork::compute;
    merger.add(row);
  }
  return merger;
}

void give_names(WorkLane& lane, const StringTable& strings) {
  std::unordered_map<int32_t, int32_t> place;
  for (WorkBlock& block : lane.blocks) {
    const auto [at, is_new] = place.emplace(block.name, static_cast<int32_t>(lane.names.size()));
    if (is_new) lane.names.emplace_back(strings.view(StringId(block.name)));
    block.name = at->second;
  }
}

void add_idle(const IdleTimes& idle, const ClockModel& clocks, WorkLane& lane) {
  for (const IdleStretch& stretch : idle.stretches) {
    lane.idle.push_back({clocks.to_job(lane.trace, stretch.begin), stretch.length_ns(), stretch.cause});
  }
}

void put_lane(ByteWriter& writer, const WorkLane& lane) {
  writer.put(lane.blocks);
  writer.put(lane.idle);
  writer.put(lane.names.size());
  for (const std::string& name : lane.names) writer.put(name);
}

void get_lane(ByteReader& reader, WorkLane& lane) {
  reader.get(lane.blocks);
  reader.get(lane.idle);
  lane.names.resize(reader.get<size_t>());
  for (std::string& name : lane.names) reader.get(name);
}

}  // namespace
}  // namespace lanes

WorkLanes draw_lanes(const JobTrace& job, const ClockModel& clocks, const Decomposition& decomposition,
                     const Blame& blame, const std::vector<IdleTimes>& idle, Exchange& exchange) {
  std::vector<lanes::ChosenTrace> chosen;
  if (exchange.first()) chosen = lanes::choose_ranks(decomposition, blame);
  follow_first(exchange, chosen);
  WorkLanes drawn;
  for (const lanes::ChosenTrace& one : chosen)
    drawn.lanes.push_back({one.trace, job[one.trace].rank, one.reason, {}, {}, {}});
  if (chosen.empty()) return drawn;

  // All processes see the same resolutions: the sizes that decide are shared.
  const size_t room = kMostBlocks / chosen.size();
  const auto owner = [&](size_t lane) { return job[chosen[lane].trace].process; };
  std::vector<lanes::BlockMerger> mergers(chosen.size(), lanes::BlockMerger(0));
  const auto each_own = [&](const auto& make) {
    tbb::parallel_for(size_t{0}, chosen.size(), [&](size_t lane) {
      if (job.holds(chosen[lane].trace)) make(lane);
    });
  };
  std::vector<int64_t> rows(chosen.size()), sizes(chosen.size()), idle_below(chosen.size());
  const auto sum = [&](std::vector<int64_t>& of) {
    share(exchange, owner, of);
    int64_t all = 0;
    for (const int64_t one : of) all += one;
    return all;
  };
  each_own([&](size_t lane) { rows[lane] = std::ssize(job[chosen[lane].trace].gpu.start); });
  const bool all_fit = sum(rows) <= static_cast<int64_t>(kMostBlocks);
  drawn.merged_below_ns = all_fit ? 0 : std::max<int64_t>(1, clocks.window_ns / static_cast<int64_t>(4 * room));
  each_own([&](size_t lane) {
    const TraceIndex trace = chosen[lane].trace;
    mergers[lane] = lanes::merged_rows(job[trace], trace, clocks, drawn.merged_below_ns);
  });
  const auto count = [&] {
    each_own([&](size_t lane) { sizes[lane] = static_cast<int64_t>(mergers[lane].size()); });
    return sum(sizes);
  };
  while (count() > static_cast<int64_t>(kMostBlocks)) {
    drawn.merged_below_ns *= 2;
    each_own([&](size_t lane) { mergers[lane] = mergers[lane].coarser(drawn.merged_below_ns); });
  }
  each_own([&](size_t lane) {
    drawn.lanes[lane].blocks = mergers[lane].take();
    lanes::give_names(drawn.lanes[lane], job.strings);
    lanes::add_idle(idle[chosen[lane].trace.index()], clocks, drawn.lanes[lane]);
    idle_below[lane] = idle[chosen[lane].trace.index()].left_out_ns;
  });
  share(exchange, owner, idle_below);
  drawn.idle_below_ns = *std::max_element(idle_below.begin(), idle_below.end());
  tell_first(
      exchange, chosen.size(), owner,
      [&](ByteWriter& writer, size_t lane) { lanes::put_lane(writer, drawn.lanes[lane]); },
      [&](ByteReader& reader, size_t lane) { lanes::get_lane(reader, drawn.lanes[lane]); });
  return drawn;
}

}  // namespace skewscope
