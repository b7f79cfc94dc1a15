#include "truth.h"

#include <algorithm>

namespace skewscope::simulate {
namespace {

// Why a call is not in the traces.
int32_t absence(const Job& job, int32_t step, int32_t rank, int32_t op) {
  if (!job.trait(rank).has_file) return 3;
  if (step < job.trait(rank).late_steps) return 2;
  return job.kernel_lost(step, rank, op) ? 1 : 0;
}

const char* style_name(TraceStyle style) {
  constexpr const char* kNames[] = {"a", "c", "d", "e"};
  return kNames[static_cast<size_t>(style)];
}

const char* vendor_name(TraceVendor vendor) {
  constexpr const char* kNames[] = {"nvidia", "amd", "cpu"};
  return kNames[static_cast<size_t>(vendor)];
}

void print_head(Text& text, const Job& job) {
  const SimulateOptions& o = job.options;
  print(text,
        "{{\n\"schema\": \"skewscope.truth/1\",\n\"options\": {{\"seed\": {}, \"style\": \"{}\", \"vendor\": \"{}\", "
        "\"nodes\": {}, \"gpus_per_node\": {}, \"tp\": {}, \"dp\": {}, \"pp\": {}, \"micro_batches\": {}, "
        "\"virtual_stages\": {}, \"steps\": {}, \"layers\": {}, "
        "\"first_step\": {}, \"layer_compute_ns\": {}, \"launch_factor\": {}, \"clock_offset_ms\": {}, "
        "\"clock_drift_ppm\": {}, "
        "\"lost_kernels\": {}, \"experts\": {}, \"fsdp\": {}, \"layers_per_bucket\": {}, \"message_factor\": {}, "
        "\"exit_jitter_ns\": {}}},\n\"reference_ns\": {},\n\"communicators\": [\n",
        o.seed, style_name(o.style), vendor_name(o.vendor), o.nodes, o.gpus_per_node, o.tp, job.topology.dp, o.pp,
        o.micro_batches, o.virtual_stages, o.steps, o.layers, o.first_step, o.layer_compute_ns, o.launch_factor,
        o.clock_offset_ms, o.clock_drift_ppm, o.lost_kernels, o.experts, o.fsdp, o.layers_per_bucket, o.message_factor,
        o.exit_jitter_ns, job.clocks[0].reference_ns);
  for (size_t row = 0; row < job.topology.groups.size(); ++row) {
    const Group& group = job.topology.groups[row];
    print(text, "{}{{\"id\": {}, \"name\": \"{}\", \"desc\": \"{}\", \"ranks\": [{}]}}", row == 0 ? "" : ",\n", row,
          group.name, group.description, fmt::join(group.ranks, ","));
  }
  print_plain(text,
              "\n],\n\"collective_fields\": [\"communicator\", \"op\", \"dtype\", \"bytes\", \"step\", \"seq\", "
              "\"ranks\", \"start_ns\", \"end_ns\", \"wait_ns\", \"transfer_ns\", \"absent\"],\n\"collectives\": [\n");
}

double expert_factor(const SimulateOptions& options, int32_t rank) {
  for (const auto& busy : options.busy_experts) {
    if (busy.rank == rank) return busy.factor;
  }
  return 1;
}

template <class Value>
void print_column(Text& text, const std::vector<Value>& values) {
  print(text, ",[{}]", fmt::join(values, ","));
}

}  // namespace

TruthWriter::TruthWriter(const Job& job, const std::string& directory)
    : job_(job), real_(job), ideal_(job), instant_(job), pipeline_(job), sink_(directory + "/truth.json", "") {
  print_head(text_, job);
}

bool TruthWriter::flush() {
  const bool written = sink_.write({text_.data(), text_.size()});
  text_.clear();
  return written;
}

bool TruthWriter::write_step(int32_t step, const StepTimeline& timeline) {
  real_.add_step(timeline);
  pipeline_.add_step(timeline);
  for (const Instance& instance : timeline.instances) print_instance(step, instance, timeline);
  return flush();
}

void TruthWriter::print_instance(int32_t step, const Instance& instance, const StepTimeline& timeline) {
  std::vector<int64_t> start, end, wait, transfer;
  std::vector<int32_t> absent;
  int64_t last_arrival = 0;
  const Op& op = job_.program(instance.ranks[0]).ops[static_cast<size_t>(instance.op[0])];
  for (size_t i = 0; i < instance.ranks.size(); ++i) {
    const OpTimes& times =
        timeline.ranks[static_cast<size_t>(instance.ranks[i])].ops[static_cast<size_t>(instance.op[i])];
    start.push_back(times.start);
    end.push_back(times.end);
    last_arrival = std::max(last_arrival, times.start);
    absent.push_back(absence(job_, step, instance.ranks[i], instance.op[i]));
  }
  for (size_t i = 0; i < start.size(); ++i) {
    wait.push_back(last_arrival - start[i]);
    transfer.push_back(end[i] - last_arrival);
  }
  print(text_, "{}[{},\"{}\",\"{}\",{},{},{}", first_ ? "" : ",\n", instance.group, to_string(op.kind),
        op.dtype == DType::float32 ? "Float" : "BFloat16", counted_bytes(op), job_.options.first_step + step,
        job_.seq(step, instance.ranks[0], op));
  first_ = false;
  print_column(text_, instance.ranks);
  for (const auto* column : {&start, &end, &wait, &transfer}) print_column(text_, *column);
  print_column(text_, absent);
  print_plain(text_, "]");
}

bool TruthWriter::finish(const std::vector<std::unique_ptr<RankOutput>>& outputs) {
  print_plain(text_, "\n],\n\"ranks\": [\n");
  for (int32_t rank = 0; rank < job_.topology.ranks; ++rank) {
    const auto row = static_cast<size_t>(rank);
    const RankClock& clock = job_.clocks[row];
    const RankTraits& traits = job_.traits[row];
    print(text_,
          "{}{{\"rank\": {}, \"host\": \"node{}\", \"device\": {}, \"offset_ns\": {}, \"drift_ppb\": {}, "
          "\"slow_factor\": {}, \"host_gap_ns\": {}, \"host_factor\": {}, \"link_factor\": {}, \"more_kernels\": {}, "
          "\"shape_factor\": {}, \"expert_factor\": {}, \"compute_ns\": {}, \"blocking_ns\": {}, "
          "\"first_recorded_step\": "
          "{}, \"file\": {}, \"gpu_rows\": {}, "
          "\"lost_rows\": {}}}",
          rank == 0 ? "" : ",\n", rank, job_.topology.node(rank), job_.topology.device(rank), clock.offset_ns,
          clock.drift * 1e9, traits.slow_factor, traits.host_gap_ns, traits.host_factor, traits.link_factor,
          traits.own.more_kernels, traits.own.shape, expert_factor(job_.options, rank), real_.rank(rank).compute_ns,
          instant_.blocking_ns(rank, real_.rank(rank)), job_.options.first_step + traits.late_steps,
          traits.has_file ? '"' + outputs[row]->file_name() + '"' : "null", outputs[row]->gpu_rows(),
          outputs[row]->lost_rows());
  }
  const EfficiencyTruth::Ratios r = real_.ratios(ideal_);
  print(text_,
        "\n],\n\"efficiency\": {{\"parallel\": {}, \"load_balance\": {}, \"communication\": {}, \"serialization\": "
        "{}, \"transfer\": {}, \"gpu_communication\": {}, \"orchestration\": {}}}",
        r.parallel, r.load_balance, r.communication, r.serialization, r.transfer, r.gpu_communication, r.orchestration);
  if (job_.options.pp > 1) {
    print(text_, ",\n\"pipeline\": {{\"total_ns\": {}, \"work_ns\": {}, \"bubble_ns\": {}, \"hop_ns\": {}}}",
          pipeline_.total_ns(), pipeline_.work_ns(), pipeline_.bubble_ns(), pipeline_.hop_ns());
  }
  print_plain(text_, "\n}\n");
  return flush() && sink_.close();
}

}  // namespace skewscope::simulate
