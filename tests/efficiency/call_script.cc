// The script that replays a call: run by a real Python with a `torch` that only writes down what it is asked for.
#include "skewscope/efficiency/call_script.h"

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "tests/temporary_folder.h"

namespace skewscope::test {
namespace {

using efficiency::ArgumentTexts;
using efficiency::replay_script;

// Prints each call as "name.overload(arguments; keywords)", a tensor as type[sizes]@[strides]@device.
constexpr const char* kTorch = R"python(
class dtype:
    def __init__(self, name, floating): self.name, self.is_floating_point, self.is_complex = name, floating, False
for _name in ("float32", "float16", "bfloat16", "float64", "float8_e4m3fn"): globals()[_name] = dtype(_name, True)
for _name in ("int64", "int32", "bool"): globals()[_name] = dtype(_name, False)

class Tensor:
    def __init__(self, extent, dtype, device): self.extent, self.dtype, self.device = extent, dtype, device
    def mul_(self, factor): return self
    def to(self, dtype): return Tensor(self.extent, dtype, self.device)
    def __repr__(self): return "%s%s@%s@%s" % (self.dtype.name, self.sizes, self.strides, self.device)
def randn(extent, device): return Tensor(extent, float32, device)
def zeros(extent, dtype, device): return Tensor(extent, dtype, device)
def as_strided(memory, sizes, strides):
    assert len(sizes) == len(strides)
    last = 0 if 0 in sizes else 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    assert last == memory.extent, "memory that is not exactly what the tensor spans"
    memory.sizes, memory.strides = sizes, strides
    return memory

class device:
    def __init__(self, name): self.name, self.type = name, str(name).split(":")[0]
    def __repr__(self): return "device(%s)" % self.name
class cuda:
    is_available = staticmethod(lambda: False)
class no_grad:
    def __enter__(self): pass
    def __exit__(self, *ignored): pass
def manual_seed(seed): pass

class _Argument:
    def __init__(self, text):
        self.kwarg_only = text.startswith("*")
        declared, _, default = text.lstrip("*").partition("=")
        self.type, self.name = declared.split(" ")
        self.default_value = default
    def has_default_value(self): return self.default_value != ""
class _Schema:
    def __init__(self, text): self.text, self.arguments = text, [_Argument(part) for part in text.split(", ")]
    def __repr__(self): return self.text
class _Overload:
    def __init__(self, name, schema): self.name, self._schema = name, _Schema(schema)
    def __call__(self, *positional, **keywords):
        print("%s%s%s" % (self.name, list(positional), keywords or ""))
class _Packet:
    def __init__(self, name, schemas):
        self._names = list(schemas)
        for overload, schema in schemas.items(): setattr(self, overload, _Overload(name + "." + overload, schema))
    def overloads(self): return self._names
class ops:
    class aten:
        mm = _Packet("mm", {"default": "Tensor self, Tensor mat2", "out": "Tensor self, Tensor mat2, *Tensor out"})
        addmm = _Packet("addmm", {"default": "Tensor self, Tensor mat1, Tensor mat2, *number beta, *number alpha"})
        mul = _Packet("mul", {"Scalar": "Tensor self, number other", "Tensor": "Tensor self, Tensor other"})
        cat = _Packet("cat", {"default": "List[Tensor] tensors, int dim"})
        convolution = _Packet("convolution", {"default": "Tensor input, Tensor weight, Optional[Tensor] bias, "
            "List[int] stride, List[int] padding, List[int] dilation, bool transposed, List[int] output_padding, int groups"})
        empty = _Packet("empty", {"memory_format": "List[int] size, *Optional[int] dtype, *Optional[int] layout, "
            "*Optional[Device] device, *Optional[bool] pin_memory, *Optional[int] memory_format"})
        gelu = _Packet("gelu", {"default": "Tensor self, *str approximate"})
        pad = _Packet("pad", {"default": "Tensor self, List[int] pad, str mode=constant, Optional[float] value"})
        new = _Packet("new", {"zeros": "Tensor self, List[int] size"})
        dropout = _Packet("dropout", {"default": "Tensor input, float p, bool train"})
)python";

struct Run {
  bool ok = false;
  std::string output;
};

// Runs the script as its reader would; both streams together.
Run run_python(const std::string& script, const std::string& options) {
  const Folder folder("replay");
  std::filesystem::create_directories(folder.path);
  std::ofstream(folder.path / "torch.py") << kTorch;
  std::ofstream(folder.path / "script.py") << script;
  const std::string at = folder.path.string();
  const std::string command =
      "PYTHONDONTWRITEBYTECODE=1 PYTHONPATH='" + at + "' python3 '" + at + "/script.py' " + options + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Run run;
  std::array<char, 4096> part{};
  for (size_t got = 0; (got = fread(part.data(), 1, part.size(), pipe)) > 0;) run.output.append(part.data(), got);
  run.ok = pclose(pipe) == 0;
  return run;
}

bool has_python() {
  const bool found =
      std::system("python3 -c '' >/dev/null 2>&1") == 0;  // NOLINT(concurrency-mt-unsafe): tests run alone
  if (!found) WARN("skipped: no python3 on this machine");
  return found;
}

// What the replayed call was asked for, the first of its repetitions.
std::string replayed(const std::string& op, const ArgumentTexts& texts) {
  const auto script = replay_script(op, texts, {});
  if (!script.ok()) return script.error().message;
  const Run run = run_python(script.value(), "--device cpu --warmup 1 --repeat 2");
  INFO(run.output);
  CHECK(run.ok);
  return run.output.substr(0, run.output.find('\n'));
}

TEST_CASE("a replayed product gets its shapes, strides and types") {
  if (!has_python()) return;
  CHECK(replayed("aten::mm", {.dims = "[[4, 8], [8, 16]]",
                              .types = R"(["c10::BFloat16", "c10::BFloat16"])",
                              .strides = "[[8, 1], [1, 8]]",
                              .values = R"(["", ""])"}) ==
        "mm.default[bfloat16[4, 8]@[8, 1]@cpu, bfloat16[8, 16]@[1, 8]@cpu]");
}

TEST_CASE("scalars that an operator takes by keyword only are given by keyword") {
  if (!has_python()) return;
  CHECK(
      replayed("aten::addmm", {.dims = "[[3], [2, 4], [4, 3], [], []]",
                               .types = R"(["float", "float", "float", "Scalar", "Scalar"])",
                               .strides = "[[1], [4, 1], [3, 1], [], []]",
                               .values = R"(["", "", "", "1", "0.5"])"}) ==
      "addmm.default[float32[3]@[1]@cpu, float32[2, 4]@[4, 1]@cpu, float32[4, 3]@[3, 1]@cpu]{'beta': 1, 'alpha': 0.5}");
}

TEST_CASE("the overload is the one that takes the recorded kinds") {
  if (!has_python()) return;
  CHECK(replayed("aten::mul",
                 {.dims = "[[2], []]", .types = R"(["float", "Scalar"])", .strides = "", .values = R"(["", "2"])"}) ==
        "mul.Scalar[float32[2]@[1]@cpu, 2]");
  CHECK(replayed("aten::mul",
                 {.dims = "[[2], []]", .types = R"(["float", "double"])", .strides = "", .values = R"(["", ""])"}) ==
        "mul.Tensor[float32[2]@[1]@cpu, float64[]@[]@cpu]");
}

TEST_CASE("absent arguments, lists, booleans and expanded strides are rebuilt") {
  if (!has_python()) return;
  CHECK(
      replayed(
          "aten::convolution",
          {.dims = "[[2, 4, 9], [6, 4, 3], [], [], [], [], [], [], []]",
           .types =
               R"(["c10::Half", "c10::Half", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"])",
           .strides = "[[36, 0, 1], [12, 3, 1], [], [], [], [], [], [], []]",
           .values = R"(["", "", "", "[1]", "[2]", "[1]", "False", "[0]", "1"])"}) ==
      "convolution.default[float16[2, 4, 9]@[36, 0, 1]@cpu, float16[6, 4, 3]@[12, 3, 1]@cpu, None, [1], [2], [1], "
      "False, [0], 1]");
}

TEST_CASE("lists of tensors take the type, or else the size, that the kernel's name tells") {
  if (!has_python()) return;
  const auto cat = [](const std::string& kernels) {
    return replayed("aten::cat", {.dims = "[[[4, 2]], []]",
                                  .types = R"(["TensorList", "Scalar"])",
                                  .strides = "[[[2, 1]], []]",
                                  .values = R"(["", "-1"])",
                                  .kernels = kernels});
  };
  CHECK(
      cat("void CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>(…)") ==
      "cat.default[[bfloat16[4, 2]@[2, 1]@cpu], -1]");
  CHECK(cat("void CatArrayBatchedCopy<long, unsigned int, 4, 64, 64>(…)") ==
        "cat.default[[int64[4, 2]@[2, 1]@cpu], -1]");
}

TEST_CASE("lists of tensors take the type of the first tensor argument, else float32") {
  if (!has_python()) return;
  CHECK(replayed("aten::cat", {.dims = "[[[4, 2], [0, 2]], []]",
                               .types = R"(["TensorList", "Scalar"])",
                               .strides = "[[[2, 1], [2, 1]], []]",
                               .values = R"(["", "-1"])"}) ==
        "cat.default[[float32[4, 2]@[2, 1]@cpu, float32[0, 2]@[2, 1]@cpu], -1]");
}

TEST_CASE("numbers of types and layouts stay numbers, and a recorded device becomes the chosen one") {
  if (!has_python()) return;
  CHECK(replayed("aten::empty", {.dims = "[[], [], [], [], [], []]",
                                 .types = R"(["ScalarList", "Scalar", "Scalar", "", "Scalar", ""])",
                                 .strides = "",
                                 .values = R"(["[8, 16]", "15", "0", "cuda:0", "False", ""])"}) ==
        "empty.memory_format[[8, 16]]{'dtype': 15, 'layout': 0, 'device': device(cpu), 'pin_memory': False, "
        "'memory_format': None}");
}

TEST_CASE("texts stay texts, whatever they hold") {
  if (!has_python()) return;
  CHECK(replayed("aten::gelu", {.dims = "[[2], []]",
                                .types = R"(["float", ""])",
                                .strides = "",
                                .values = R"(["", "\");import os;os.abort()#\n"])"}) ==
        R"(gelu.default[float32[2]@[1]@cpu]{'approximate': '");import os;os.abort()#\n'})");
}

TEST_CASE("a probability that was recorded as 0. is a float") {
  if (!has_python()) return;
  CHECK(replayed("aten::dropout", {.dims = "[[2], [], []]",
                                   .types = R"(["long int", "Scalar", "Scalar"])",
                                   .strides = "",
                                   .values = R"(["", "0.", "True"])"}) ==
        "dropout.default[int64[2]@[1]@cpu, 0.0, True]");
}

TEST_CASE("a number with leading zeros is written as Python reads numbers") {
  const auto script = replay_script(
      "aten::mm", {.dims = "[[4, 8], []]", .types = R"(["float", "Scalar"])", .values = R"(["", "007"])"}, {});
  REQUIRE(script.ok());
  CHECK(script.value().find("        7,\n") != std::string::npos);
}

TEST_CASE("what the trace has no value of is the default, an empty list or None, as the operator declares") {
  if (!has_python()) return;
  CHECK(replayed("aten::pad", {.dims = "[[2], [], [], []]",
                               .types = R"(["float", "ScalarList", "", ""])",
                               .strides = "",
                               .values = R"(["", "[0, 1]", "", ""])"}) ==
        "pad.default[float32[2]@[1]@cpu, [0, 1], 'constant', None]");
  CHECK(replayed("aten::new",
                 {.dims = "[[2], []]", .types = R"(["float", ""])", .strides = "", .values = R"(["", ""])"}) ==
        "new.zeros[float32[2]@[1]@cpu, []]");
}

TEST_CASE("an operator that nothing has registered is told with the option that helps") {
  if (!has_python()) return;
  const auto script = replay_script("aten::unheard_of", {.dims = "[[2]]", .types = R"(["float"])"}, {});
  REQUIRE(script.ok());
  const Run run = run_python(script.value(), "");
  CHECK_FALSE(run.ok);
  CHECK(run.output == "torch.ops has no aten::unheard_of: name the module that registers it by --import\n");
}

TEST_CASE("the script warms up, repeats and prints the median") {
  if (!has_python()) return;
  const auto script = replay_script("aten::mm", {.dims = "[[4, 8], [8, 16]]", .types = R"(["float", "float"])"}, {});
  REQUIRE(script.ok());
  const Run run = run_python(script.value(), "--warmup 3 --repeat 20");
  CHECK(run.ok);
  size_t calls = 0;
  for (size_t at = run.output.find("mm.default["); at != std::string::npos; at = run.output.find("mm.default[", at + 1))
    ++calls;
  CHECK(calls == 23);
  CHECK_THAT(run.output, Catch::Contains("aten::mm on cpu: median ") && Catch::EndsWith(" of 20 calls\n"));
}

TEST_CASE("recorded arguments that no overload takes are told with the overloads") {
  if (!has_python()) return;
  const auto script = replay_script("aten::mm", {.dims = "[[4, 8]]", .types = R"(["float"])"}, {});
  REQUIRE(script.ok());
  const Run run = run_python(script.value(), "");
  CHECK_FALSE(run.ok);
  CHECK_THAT(run.output, Catch::Contains("no overload of aten::mm") && Catch::Contains("Tensor self, Tensor mat2"));
}

TEST_CASE("facts stand in the head as comments, one line each") {
  const auto script =
      replay_script("aten::mm", {.dims = "[]", .types = "[]"}, {"trace.json, rank 3", "evil\nimport os"});
  REQUIRE(script.ok());
  CHECK_THAT(script.value(), Catch::Contains("\n# trace.json, rank 3\n# evil?import os\n"));
}

TEST_CASE("what is no operator of torch.ops is refused in words") {
  const ArgumentTexts texts = {.dims = "[]", .types = "[]"};
  for (const char* name :
       {"MmBackward0", "ProfilerStep#5", "void at::native::kernel<4>", "aten::", "::mm", "aten::mm()", "a::b::c", ""}) {
    INFO(name);
    REQUIRE_FALSE(replay_script(name, texts, {}).ok());
    CHECK_THAT(replay_script(name, texts, {}).error().message, Catch::Contains("is no operator of torch.ops"));
  }
}

TEST_CASE("arguments that cannot be rebuilt are named") {
  const auto message = [](const ArgumentTexts& texts) {
    const auto script = replay_script("aten::x", texts, {});
    return script.ok() ? "" : script.error().message;
  };
  CHECK_THAT(message({}), Catch::Contains("not recorded"));
  CHECK_THAT(message({.dims = "[[2]]", .types = R"(["c10::Strange"])"}),
             Catch::Contains("argument 0 (c10::Strange) cannot"));
  CHECK_THAT(message({.dims = "[[2], []]", .types = R"(["float", "GenericList"])"}),
             Catch::Contains("argument 1 (GenericList) has no recorded value"));
  CHECK_THAT(message({.dims = "[[], []]", .types = R"(["TensorList", "Scalar"])", .values = R"(["", "0"])"}),
             Catch::Contains("argument 0 (TensorList) has no recorded value"));
  CHECK_THAT(message({.dims = "[[2]]", .types = R"(["float"])", .strides = "[[-1]]"}),
             Catch::Contains("argument 0 (float)"));
}

}  // namespace
}  // namespace skewscope::test
