// What the names of rows mean: PyTorch, the runtimes of the vendors and users of torch.profiler give them, whatever
// tracer writes them down. Reference: KINETO.md, sections 4 to 6.
#pragma once

#include <cstdint>
#include <string_view>

#include "launched_rows.h"

namespace skewscope::ingest {

// "nccl:", "rccl:", "gloo:", ...: the range around one collective.
bool is_collective_range(std::string_view name);
// CPU ops that tell about a collective besides record_param_comms: those of custom kernels.
bool is_collective_op(std::string_view name);
// Other operators whose name holds a collective's word: "trtllm::allreduce", "mylib::fused_all_gather_matmul".
bool has_operation_word(std::string_view name);
// c10d's operators whose first two operands, what comes out and what goes in, tell how many ranks there are.
bool is_sized_op(std::string_view name);
// Runtime calls that wait until the device has done all that was launched before them.
bool waits_for_device(std::string_view name);
// The instant at which recording ended, as Kineto calls it.
constexpr std::string_view kRecordingEnd = "Record Window End";
constexpr std::string_view kMemoryEvent = "[memory]";  // an allocation or a free
// Runtime calls that never put work on the GPU (cudaEventQuery, hipStreamIsCapturing, ...): half of all runtime rows.
bool never_launches(std::string_view name);
// Runtime calls that wait for the device, for a stream or for an event. By how the name begins, as never_launches().
bool synchronizes(std::string_view name);
// What a runtime call that may launch does.
LaunchRole role_of_launch(std::string_view name);
// The part of the model that a range of the program is around: "layers.3" of "FSDP::all_gather (layers.3)"; the whole
// of a name that holds "layer" or "block", or is a path with a number, "model.h.3.mlp"; "": none.
std::string_view module_of_annotation(std::string_view name);
// The type that NCCL's kernels have in their names, as PyTorch writes it in arguments: "BFloat16"; "": none.
std::string_view type_of_kernel(std::string_view kernel);
// "Optimizer.step#AdamW.step".
bool is_optimizer_step(std::string_view name);
// An operator of the backward pass: "autograd::engine::evaluate_function: AddmmBackward0".
bool is_backward_op(std::string_view name);
// "thread 706 (pt_autograd_0)": a thread of the backward pass.
bool names_backward_thread(std::string_view label);
// N of "ProfilerStep#N"; -1: another name.
int64_t profiler_step(std::string_view name);
// N of process names and labels such as "rank 3", "[TP03] python", "Rank: 3"; -1: none.
int64_t rank_in_label(std::string_view label);

}  // namespace skewscope::ingest
