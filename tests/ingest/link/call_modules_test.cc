#include "src/ingest/link/call_modules.h"

#include <catch2/catch.hpp>

#include "src/ingest/kineto/event_fields.h"
#include "src/ingest/kineto/pass_texts.h"
#include "src/ingest/link/link_calls.h"
#include "tests/ingest/content_builder.h"
#include "tests/ingest/reader_support.h"

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

  // An operator of the backward pass.
  TracedModules& backward(int64_t start_us, int64_t duration_us) {
    b.content().backward_ops.push_back({at_us(start_us), duration_us * 1000, kBackward});
    return *this;
  }
  // An arrow between operators that start then.
  TracedModules& arrow(int64_t id, int64_t forward_us, int64_t backward_us) {
    b.content().pass_flows.push_back({at_us(forward_us), kForward, id, false});
    b.content().pass_flows.push_back({at_us(backward_us), kBackward, id, true});
    return *this;
  }

  // The module that the collective is of; "" where nothing names it.
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

TEST_CASE("what a backward operator launches is of the module in which its forward operator ran") {
  // Linear_1 and Linear_2 of a block; backward in turn; between 360 and 400 a gradient is accumulated.
  const auto launched = [](int64_t at_us, int64_t thread = kBackward) {
    TracedModules traced;
    traced.range("Block_0", 100, 100).range("Linear_1", 110, 20).range("Linear_2", 140, 20).range("Embedding_0", 20, 9);
    traced.backward(300, 20).arrow(5, 145, 303).backward(330, 20).arrow(6, 115, 333).backward(360, 40);
    traced.backward(410, 20).arrow(7, 170, 412).backward(440, 20).arrow(8, 250, 442);
    return traced.of(at_us, thread);
  };
  CHECK(launched(310) == "Linear_2");
  CHECK(launched(301) == "Linear_2");
  CHECK(launched(340) == "Linear_1");
  CHECK(launched(380).empty());
  CHECK(launched(420) == "Block_0");
  CHECK(launched(450).empty());  // whose forward operator ran outside of all modules
  CHECK(launched(325).empty());
  CHECK(launched(310, kForward).empty());
}

TEST_CASE("an operator within a backward operator keeps its arrow to itself, and a range of FSDP comes before arrows") {
  TracedModules outer, inner, sharded;
  for (TracedModules* traced : {&outer, &inner, &sharded}) {
    traced->range("Linear_1", 110, 20).backward(300, 100).backward(320, 20).arrow(5, 115, 325);
  }
  CHECK(inner.of(330, kBackward) == "Linear_1");
  CHECK(outer.of(390, kBackward).empty());
  CHECK(sharded.range("layers.7", 326, 10, kBackward).of(330, kBackward) == "layers.7");
}

TEST_CASE("operators of the backward pass and arrows are read from the text where it names a module") {
  const auto events = [](const std::string& module) {
    return R"json(
  {
    "ph": "X", "cat": "python_function", "name": ")json" +
           module + R"json(", "pid": 900, "tid": 11,
    "ts": 1000000000005.000, "dur": 3.000,
    "args": {
      "Python id": 3, "Python parent id": 1, "Python module id": 0, "Ev Idx": 3
    }
  },
  {
    "ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: AddmmBackward0", "pid": 900, "tid": 961,
    "ts": 1000000000040.250, "dur": 17.500,
    "args": {
      "External id": 513, "Record function id": 0, "Sequence number": 129, "Fwd thread id": 1, "Ev Idx": 0
    }
  },
  {
    "ph": "f", "id": 7, "pid": 900, "tid": 961, "ts": 1000000000041.125,
    "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"
  },
  {
    "ph": "s", "id": 7, "pid": 900, "tid": 11, "ts": 1000000000006.000,
    "cat": "fwdbwd", "name": "fwdbwd"
  },
  {
    "ph": "s", "id": 8, "pid": 900, "tid": 11, "ts": 1000000000007.000,
    "cat": "ac2g", "name": "ac2g"
  }
)json";
  };
  const FileContent content = read_text(trace_of(events("nn.Module: Linear_0")));
  REQUIRE(content.backward_ops.size() == 1);
  CHECK(content.backward_ops[0].start.ns == 1'000'000'000'040'250);
  CHECK(content.backward_ops[0].duration_ns == 17'500);
  CHECK(content.backward_ops[0].thread == 961);
  REQUIRE(content.pass_flows.size() == 2);
  CHECK(content.pass_flows[0].id == 7);
  CHECK(content.pass_flows[0].start.ns == 1'000'000'000'006'000);
  CHECK(content.pass_flows[0].thread == 11);
  CHECK_FALSE(content.pass_flows[0].backward);
  CHECK(content.pass_flows[1].thread == 961);
  CHECK(content.pass_flows[1].backward);
  const FileContent unnamed = read_text(trace_of(events("forward")));
  CHECK(unnamed.backward_ops.empty());
  CHECK(unnamed.pass_flows.empty());
  CHECK(unnamed.backward_threads == std::vector<int64_t>{961});
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

TEST_CASE("texts of the backward pass are given back where 16 MB of them stand before any module") {
  const std::string text(PassText::kBytes, ' ');
  const auto texts_of = [&](size_t megabytes) {
    return std::vector<PassText>((megabytes << 20) / sizeof(PassText), PassText(text.data()));
  };
  PassTexts without_modules;
  CHECK(append_pass_texts(texts_of(10), false, without_modules) > 9 << 20);
  CHECK(append_pass_texts(texts_of(10), false, without_modules) < -(9 << 20));
  CHECK(append_pass_texts(texts_of(1), false, without_modules) == 0);
  CHECK(without_modules.chunks.empty());

  PassTexts with_modules;
  for (int i = 0; i < 3; ++i) CHECK(append_pass_texts(texts_of(10), true, with_modules) > 9 << 20);
  CHECK(with_modules.chunks.size() == 3);
}
