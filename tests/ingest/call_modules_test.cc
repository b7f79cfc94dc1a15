#include "src/ingest/call_modules.h"

#include <catch2/catch.hpp>

#include "content_builder.h"
#include "reader_support.h"
#include "src/ingest/event_fields.h"
#include "src/ingest/link_calls.h"

using namespace skewscope;          // NOLINT
using namespace skewscope::ingest;  // NOLINT

namespace {

constexpr int64_t kForward = 1, kBackward = 2;

// A collective launched at `launch_us` by a thread, and ranges of modules.
struct TracedModules {
  ContentBuilder b;

  TracedModules& range(const char* name, int64_t start_us, int64_t duration_us, int64_t thread = kForward) {
    b.content().modules.push_back({at_us(start_us), duration_us * 1000, thread, b.text(name)});
    return *this;
  }

  // Of what the collective is; "" where nothing names it.
  std::string of(int64_t launch_us, int64_t thread = kForward) {
    b.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", launch_us + 20, 5, 1);
    b.launch(launch_us, 1, thread);
    const LinkedTrace linked = link_calls(std::move(b.content()));
    REQUIRE(linked.trace.calls.size() == 1);
    const int32_t module = linked.trace.calls[0].module;
    return module < 0 ? "" : linked.modules.at(static_cast<size_t>(module));
  }
};

std::string_view annotation(std::string_view name) { return module_of_range(EventClass::user_annotation, name); }

}  // namespace

TEST_CASE("a call is of the innermost module around its launch, on the thread that launched it") {
  const auto launched = [](int64_t at_us, int64_t thread) {
    TracedModules traced;
    traced.range("Block_1", 100, 200).range("Linear_3", 150, 50).range("layers.7", 150, 50, kBackward);
    return traced.of(at_us, thread);
  };
  CHECK(launched(120, kForward) == "Block_1");
  CHECK(launched(160, kForward) == "Linear_3");
  CHECK(launched(250, kForward) == "Block_1");
  CHECK(launched(160, kBackward) == "layers.7");
  CHECK(launched(120, kBackward).empty());
  CHECK(launched(400, kForward).empty());
  CHECK(TracedModules().of(100).empty());
}

TEST_CASE("ranges of modules, of FSDP and those that a program puts around a layer name a module; others do not") {
  CHECK(module_of_range(EventClass::python_function, "nn.Module: Linear_3") == "Linear_3");
  CHECK(module_of_range(EventClass::python_function, "torch/nn/modules/linear.py(125): forward").empty());
  CHECK(annotation("FSDP::all_gather (layers.3)") == "layers.3");
  CHECK(annotation("FSDP::post_backward_reduce (model.layers.31.mlp)") == "model.layers.31.mlp");
  CHECK(annotation("FSDP::root_pre_forward").empty());
  CHECK(annotation("FSDP::backward_prefetch for 2").empty());  // what is prefetched has a range of its own
  CHECK(annotation("Layer 12") == "Layer 12");
  CHECK(annotation("transformer_block_3 forward") == "transformer_block_3 forward");
  CHECK(annotation("h.11.attn") == "h.11.attn");
  for (const char* other : {"ProfilerStep#7", "nccl:all_reduce", "Optimizer.step#AdamW.step", "loss", "v1.2 of the run",
                            "3.5", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"}) {
    INFO(other);
    CHECK(annotation(other).empty());
  }
}

TEST_CASE("modules are read from the text, whatever else of Python's frames is left out") {
  const std::string events = R"json(
  {
    "ph": "X", "cat": "python_function", "name": "nn.Module: Linear_0", "pid": 9, "tid": 11,
    "ts": 5, "dur": 3,
    "args": {
      "Python id": 3, "Python parent id": 1, "Python module id": 0, "Ev Idx": 3
    }
  },
  {
    "ph": "X", "cat": "python_function", "name": "torch/nn/modules/linear.py(125): forward", "pid": 9, "tid": 11,
    "ts": 6, "dur": 1,
    "args": {
      "Python id": 4, "Python parent id": 3, "Ev Idx": 4
    }
  },
  {
    "ph": "X", "cat": "user_annotation", "name": "FSDP::all_gather (layers.3)", "pid": 9, "tid": 12,
    "ts": 20, "dur": 4,
    "args": {
      "External id": 5
    }
  },
  {
    "ph": "X", "cat": "user_annotation", "name": "loss", "pid": 9, "tid": 12,
    "ts": 30, "dur": 4,
    "args": {
      "External id": 6
    }
  }
)json";
  const FileContent content = read_text(trace_of(events));
  REQUIRE(content.modules.size() == 2);
  CHECK(content.strings.view(content.modules[0].name) == "Linear_0");
  CHECK(content.modules[0].start.ns == 5'000);
  CHECK(content.modules[0].duration_ns == 3'000);
  CHECK(content.modules[0].thread == 11);
  CHECK(content.strings.view(content.modules[1].name) == "layers.3");
}

TEST_CASE("the 1,024th module of a trace and all behind it are others") {
  std::vector<std::string> names;
  for (size_t i = 0; i < kMostModules + 10; ++i) module_row("Linear_" + std::to_string(i), names);
  REQUIRE(names.size() == kMostModules);
  CHECK(names.back() == kOtherModules);
  CHECK(module_row("Linear_7", names) == 7);
  CHECK(names[static_cast<size_t>(module_row("Linear_5000", names))] == kOtherModules);
}
