// RankWriter's host side: operators around launches, process-group calls, python frames, gloo ranges.
//
// The rows of one operation nest between its begin and done: python frames outside, then operators, then the launch.
// Each level steps in by an equal part of the margins, so any number of filler rows nests correctly.
#include <algorithm>
#include <cmath>

#include "kernel_look.h"
#include "rank_writer.h"

namespace skewscope::simulate {
namespace {

constexpr double kOperandRows = 2048;

constexpr const char* kWrappers[] = {
    "aten::linear", "aten::matmul", "aten::to",    "aten::_to_copy", "aten::empty_strided",
    "aten::view",   "aten::expand", "aten::slice", "aten::t",        "aten::as_strided"};
constexpr const char* kFrames[] = {"torch/nn/modules/module.py(1751): _wrapped_call_impl",
                                   "torch/nn/modules/module.py(1762): _call_impl",
                                   "megatron/core/transformer/transformer_layer.py(433): forward",
                                   "torch/nn/modules/linear.py(125): forward", "<built-in function linear>"};

const char* innermost_op(const Op& op) {
  switch (op.what) {
    case OpClass::memset:
      return "aten::zero_";
    case OpClass::memcpy_in:
      return "aten::copy_";
    case OpClass::memcpy_out:
      return "aten::_local_scalar_dense";
    default:
      return kernel_looks()[static_cast<size_t>(op.look)].cpu_op;
  }
}

}  // namespace

void RankWriter::cpu_op(const char* name, Place place, int64_t begin_true, int64_t end_true, int64_t id, double shape) {
  const int64_t rows = std::llround(kOperandRows * shape);
  open_event(text_, layout_.stamps, "cpu_op", name, place, local(begin_true), local(end_true));
  const int64_t event = next_event_++;
  switch (job_.options.style) {
    case TraceStyle::era_a:
      print(text_,
            R"("External id": {},"Ev Idx": {}, "Input Dims": [[{}, 4096], [4096], []], "Input type": ["float", )"
            R"("float", "Scalar"])",
            id, event, rows);
      break;
    case TraceStyle::era_c:
      print(text_, R"("External id": {},"Record function id": {}, "Ev Idx": {})", id, id, event);
      break;
    default:
      print(text_,
            R"("External id": {},"Record function id": 0, "Concrete Inputs": ["", "", "", "1"], "Input type": )"
            R"(["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar"], "Input Strides": [[4096, 1], [1], [], )"
            R"([]], "Input Dims": [[{}, 4096], [4096], [], []], "Ev Idx": {})",
            id, rows, event);
  }
  close_event(text_);
}

void RankWriter::python_rows(Place place, const OpTimes& times) {
  const int32_t rows = job_.options.python_rows_per_kernel;
  const int64_t inner_begin = nested(times.begin, times.launch, 1, 3),
                inner_end = nested(times.done, times.launched, 1, 3);
  for (int32_t k = 0; k < rows; ++k) {
    open_event(text_, layout_.stamps, "python_function", kFrames[k % std::size(kFrames)], place,
               local(nested(times.begin, inner_begin, k, rows)), local(nested(times.done, inner_end, k, rows)));
    print(text_, "\"Python parent id\": {}, \"Python id\": {}, \"Ev Idx\": {}", std::max<int64_t>(next_python_ - 1, 1),
          next_python_, next_event_);
    ++next_python_;
    ++next_event_;
    close_event(text_);
  }
}

RankWriter::Link RankWriter::cpu_rows(int32_t step, const Op& op, const OpTimes& times, size_t row) {
  const Place place = layout_.host(op.on_autograd_thread);
  if (!op.on_autograd_thread) python_rows(place, times);
  if (op.what == OpClass::communication) return communication_cpu_rows(step, op, times, calls_[row]);
  const int32_t rows = job_.options.cpu_rows_per_kernel;
  const int64_t outer_begin = nested(times.begin, times.launch, 1, 3),
                outer_end = nested(times.done, times.launched, 1, 3);
  Link link;
  for (int32_t k = 1; k <= rows; ++k) {
    const char* name = k == rows ? innermost_op(op) : kWrappers[(row + static_cast<size_t>(k)) % std::size(kWrappers)];
    link.external_id = next_external_++;
    cpu_op(name, place, nested(outer_begin, times.launch, k, rows), nested(outer_end, times.launched, k, rows),
           link.external_id, op.shape);
  }
  return link;
}

// With sharded parameters FSDP's range of the layer around all; c10d::allreduce_ around record_param_comms around
// nccl:all_reduce around the launch.
RankWriter::Link RankWriter::communication_cpu_rows(int32_t step, const Op& op, const OpTimes& times,
                                                    const CommunicationText& call) {
  const bool old = job_.options.style == TraceStyle::era_a;
  const Place place = layout_.host(op.on_autograd_thread);
  const auto begin = [&](int32_t level) { return nested(times.begin, times.launch, level, 4); };
  const auto end = [&](int32_t level) { return nested(times.done, times.launched, level, 4); };
  if (!call.shard_range.empty()) {
    open_range("user_annotation", call.shard_range, place, begin(0), end(0));
    print(text_, "{}\"Ev Idx\": {}", old ? ", " : "", next_event_++);
    close_event(text_);
  }
  cpu_op(call.c10d_op.c_str(), place, begin(1), end(1), next_external_++);
  Link link;
  link.external_id = open_range("cpu_op", "record_param_comms", place, begin(2), end(2));
  if (old) {
    print_plain(text_, R"(, "Input Dims": [[], [], [], [], [], [], []], "Input type": ["TensorList", "Scalar", )"
                       R"("Scalar", "Scalar", "", "", ""])");
  } else {
    print_plain(text_, call.op_args);
    print_seq(step, op, call);
    print(text_, ", \"Ev Idx\": {}", next_event_++);
  }
  close_event(text_);
  link.annotation_id = open_range("user_annotation", call.annotation, place, begin(3), end(3));
  print_plain(text_, call.shape_args);
  if (!old) print(text_, "\"Ev Idx\": {}", next_event_++);
  close_event(text_);
  return link;
}

// work.wait() of the last collective leaves such a row: no elements, a group of one, no kernel.
void RankWriter::wait_row(const RankStep& timeline) {
  if (job_.options.style == TraceStyle::era_a || job_.topology.ranks < 2) return;
  open_range("cpu_op", "record_param_comms", layout_.host(false), timeline.sync_begin - 900, timeline.sync_begin - 300);
  print(text_,
        R"("Collective name": "wait", "Process Group Description": "default_pg", "dtype": "Byte", "Out msg nelems": )"
        R"(0, "Process Group Name": "0", "Process Group Ranks": "[]", "Group size": 1, "Ev Idx": {}, "In msg )"
        R"(nelems": 0, {}"In split size": "[]", "Out split size": "[]")",
        next_event_++, job_.options.style == TraceStyle::era_c ? std::string() : fmt::format("\"Rank\": {}, ", rank_));
  close_event(text_);
}

// A process without GPUs: operators take the time of the kernels, collectives are ranges of the group's own thread.
void RankWriter::gloo_rows(int32_t step, const RankStep& timeline) {
  const Program& program = job_.program(rank_);
  const bool old = job_.options.style == TraceStyle::era_a;
  for (size_t row = 0; row < program.ops.size(); ++row) {
    const Op& op = program.ops[row];
    const OpTimes& times = timeline.ops[row];
    if (op.what != OpClass::communication) {
      cpu_op(innermost_op(op), layout_.host(op.on_autograd_thread), times.start, times.end, next_external_++, op.shape);
      continue;
    }
    if (job_.kernel_lost(step, rank_, static_cast<int32_t>(row))) {
      ++lost_rows_;
      continue;
    }
    open_range("user_annotation", calls_[row].annotation, {layout_.pid, stream_number(job_, layout_, op.stream)},
               times.start, times.end);
    print_plain(text_, calls_[row].shape_args);
    if (!old) print(text_, "\"Ev Idx\": {}", next_event_++);
    close_event(text_);
  }
}

}  // namespace skewscope::simulate
