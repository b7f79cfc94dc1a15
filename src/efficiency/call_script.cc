#include "skewscope/efficiency/call_script.h"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "models.h"
#include "scalar_type.h"
#include "skewscope/base/printable.h"

namespace skewscope::efficiency {
namespace {

using nlohmann::json;

constexpr std::string_view kHead = R"(#!/usr/bin/env python3
"""Replays one recorded operator call and times it; needs PyTorch only. Written by skewscope.

What the trace recorded of the arguments is rebuilt: shapes, strides, element types, scalars. It has no values:
floating-point tensors hold small random numbers; integer and boolean ones hold zeros, as index 0 is valid everywhere.
Where integers are lengths or offsets (cu_seqlens, block tables), set them in arguments() before believing the time.
Element types inside lists of tensors are not recorded either: they have the size that the kernel's name shows, else they
are those of the first tensor argument, else float32.
Texts (mode="reflect") are not recorded: they are the operator's defaults.
"""
import argparse
import importlib
import statistics
import time

import torch

)";

constexpr std::string_view kTail = R"(

def tensor(sizes, strides, dtype, device):
    """A tensor of these sizes and strides (None: contiguous) over memory of its own."""
    if strides is None:
        strides = [1] * len(sizes)
        for i in range(len(sizes) - 2, -1, -1):
            strides[i] = strides[i + 1] * max(sizes[i + 1], 1)
    extent = 0 if 0 in sizes else 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides))
    if dtype.is_floating_point or dtype.is_complex:
        memory = torch.randn(extent, device=device).mul_(0.1).to(dtype)
    else:
        memory = torch.zeros(extent, dtype=dtype, device=device)
    return torch.as_strided(memory, sizes, strides)


def fits(argument, value):
    """Whether a value can be what a schema declares ("Optional[Tensor]", "List[int]", "number", ...)."""
    declared = str(argument.type)
    if value is None:
        return declared.startswith("Optional[") or argument.has_default_value() or declared == "List[int]"
    in_list, of_tensors = "List[" in declared, "Tensor" in declared
    if isinstance(value, list):
        return in_list and (not value or of_tensors == isinstance(value[0], torch.Tensor))
    if isinstance(value, torch.Tensor):
        return of_tensors and not in_list
    if of_tensors or in_list:
        return False
    if isinstance(value, bool):
        return "bool" in declared or "number" in declared
    if isinstance(value, torch.device):
        return "Device" in declared
    if isinstance(value, str):
        return "str" in declared
    if isinstance(value, float):
        return "float" in declared or "number" in declared
    return not any(word in declared for word in ("bool", "str", "Device"))


def given(argument, value):
    """The value; where the trace has none and None does not do, the default, or the list that was empty."""
    if value is not None or str(argument.type).startswith("Optional["):
        return value
    return argument.default_value if argument.has_default_value() else []


def resolve(values):
    """The overload that takes these values, and the values as its positional and its keyword-only arguments."""
    namespace, name = OPERATOR.split("::")
    packet = getattr(getattr(torch.ops, namespace), name, None)
    if packet is None:
        raise SystemExit("torch.ops has no %s: name the module that registers it by --import" % OPERATOR)
    seen = []
    for overload in packet.overloads():
        call = getattr(packet, overload)
        declared = call._schema.arguments
        seen.append(str(call._schema))
        if len(declared) == len(values) and all(fits(a, v) for a, v in zip(declared, values)):
            positional = [given(a, v) for a, v in zip(declared, values) if not a.kwarg_only]
            keywords = {a.name: given(a, v) for a, v in zip(declared, values) if a.kwarg_only}
            return call, positional, keywords
    raise SystemExit("no overload of %s takes the recorded arguments:\n  %s" % (OPERATOR, "\n  ".join(seen)))


def times_us(call, device, repeat):
    """Microseconds of each call: of the GPU by events on its stream, of the CPU by the clock."""
    if torch.device(device).type != "cuda":
        marks = [time.perf_counter()]
        for _ in range(repeat):
            call()
            marks.append(time.perf_counter())
        return [(end - start) * 1e6 for start, end in zip(marks, marks[1:])]
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(repeat + 1)]
    marks[0].record()
    for mark in marks[1:]:
        call()
        mark.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(end) * 1e3 for start, end in zip(marks, marks[1:])]


def main():
    parser = argparse.ArgumentParser(description="Replays " + OPERATOR)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=100)
    parser.add_argument("--import", dest="modules", action="append", default=[], metavar="MODULE",
                        help="module that registers the operator, for operators that are not PyTorch's")
    options = parser.parse_args()
    for module in options.modules:
        importlib.import_module(module)
    torch.manual_seed(0)
    call, positional, keywords = resolve(arguments(options.device))
    with torch.no_grad():
        for _ in range(options.warmup):
            call(*positional, **keywords)
        if torch.device(options.device).type == "cuda":
            torch.cuda.synchronize()
        times = times_us(lambda: call(*positional, **keywords), options.device, max(options.repeat, 1))
    print("%s on %s: median %.3f us, min %.3f, max %.3f of %d calls"
          % (OPERATOR, options.device, statistics.median(times), min(times), max(times), len(times)))


if __name__ == "__main__":
    main()
)";

bool is_identifier(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; });
}

// namespace::name, as torch.ops spells it.
bool is_operator(std::string_view name) {
  const size_t colons = name.find("::");
  return colons != std::string_view::npos && is_identifier(name.substr(0, colons)) &&
         is_identifier(name.substr(colons + 2));
}

std::string python_list(const std::vector<int64_t>& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

// tensor([2, 3], [3, 1], torch.float32, device); nullopt: strides that PyTorch does not allow.
std::optional<std::string> python_tensor(const Tensor& tensor, std::string_view dtype) {
  if (std::any_of(tensor.strides.begin(), tensor.strides.end(), [](int64_t stride) { return stride < 0; })) {
    return std::nullopt;
  }
  const bool known = tensor.strides.size() == tensor.dims.size();
  return fmt::format("tensor({}, {}, torch.{}, device)", python_list(tensor.dims),
                     known ? python_list(tensor.strides) : "None", dtype);
}

// A number as Python writes it: "0." and "1e-05" as they are, "inf" by name; nullopt: none.
std::optional<std::string> python_number(const std::string& text) {
  const Argument argument{.kind = ArgumentKind::value, .type = "", .value = text, .tensors = {}};
  if (const auto integer = argument.integer()) return std::to_string(*integer);  // "007" is no Python
  if (text == "True" || text == "False" || argument.number()) return text;
  if (text == "inf" || text == "-inf" || text == "nan") return fmt::format("float(\"{}\")", text);
  return std::nullopt;
}

std::optional<std::string> python_numbers(const std::string& text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::string list;
  size_t from = 1;
  while (from + 1 < text.size()) {
    size_t to = std::min(text.find(',', from), text.size() - 1);
    std::string item = text.substr(from, to - from);
    item.erase(0, item.find_first_not_of(' '));
    const auto number = python_number(item);
    if (!number) return std::nullopt;
    list += (list.empty() ? "" : ", ") + *number;
    from = to + 1;
  }
  return "[" + list + "]";
}

bool is_device(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  const std::string_view number = colon == std::string_view::npos ? "0" : text.substr(colon + 1);
  const std::string_view types[] = {"cuda", "hip", "cpu", "xpu"};
  return std::find(std::begin(types), std::end(types), type) != std::end(types) && !number.empty() &&
         std::all_of(number.begin(), number.end(), [](unsigned char digit) { return std::isdigit(digit) != 0; });
}

std::optional<std::string> python_value(const Argument& argument) {
  if (auto number = python_number(argument.value)) return number;
  if (auto numbers = python_numbers(argument.value)) return numbers;
  if (is_device(argument.value))
    return argument.value.substr(0, 3) == "cpu" ? "torch.device(\"cpu\")" : "torch.device(device)";
  const bool is_list = !argument.value.empty() && argument.value.front() == '[';
  if (argument.value.empty() || is_list) return std::nullopt;
  return json(argument.value).dump(-1, ' ', true, json::error_handler_t::replace);
}

std::optional<std::string> python_argument(const Argument& argument, std::string_view list_dtype) {
  switch (argument.kind) {
    case ArgumentKind::none:
      return "None";
    case ArgumentKind::value:
      return python_value(argument);
    case ArgumentKind::tensor: {
      const std::string_view dtype = torch_name_of_type(argument.type);
      return dtype.empty() ? std::nullopt : python_tensor(argument.tensors[0], dtype);
    }
    case ArgumentKind::tensor_list:
      break;
  }
  if (argument.tensors.empty()) return std::nullopt;  // how a list is recorded whose tensors are not
  std::string list;
  for (const Tensor& tensor : argument.tensors) {
    const auto element = python_tensor(tensor, list_dtype);
    if (!element) return std::nullopt;
    list += (list.empty() ? "" : ", ") + *element;
  }
  return "[" + list + "]";
}

std::string_view list_dtype_of(const std::vector<Argument>& arguments, std::string_view kernels) {
  if (const std::string_view told = torch_name_of_lists(kernels); !told.empty()) return told;
  for (const Argument& argument : arguments) {
    const std::string_view dtype = argument.tensor() == nullptr ? "" : torch_name_of_type(argument.type);
    if (!dtype.empty()) return dtype;
  }
  return "float32";
}

Error cannot(std::string_view operator_name, const std::string& why) {
  return {.kind = ErrorKind::usage, .message = fmt::format("{} cannot be replayed: {}", printable(operator_name), why)};
}

}  // namespace

Result<std::string> replay_script(std::string_view operator_name, const ArgumentTexts& texts,
                                  const std::vector<std::string>& facts) {
  if (!is_operator(operator_name)) {
    return cannot(operator_name,
                  "it is no operator of torch.ops (namespace::name) but an autograd node, a range or a kernel");
  }
  const auto arguments = parse_arguments(texts);
  if (!arguments) return cannot(operator_name, "its arguments were not recorded (profile with record_shapes=True)");
  std::string built;
  for (size_t at = 0; at < arguments->size(); ++at) {
    const Argument& argument = (*arguments)[at];
    const auto python = python_argument(argument, list_dtype_of(*arguments, texts.kernels));
    if (!python) {
      const bool missing = argument.value.empty() && argument.tensors.empty();
      return cannot(operator_name, fmt::format("argument {} ({}{}{}) {}", at, printable(argument.type),
                                               argument.value.empty() ? "" : " ", printable(argument.value),
                                               missing ? "has no recorded value" : "cannot be rebuilt"));
    }
    built += fmt::format("        {},\n", *python);
  }
  std::string script(kHead);
  for (const std::string& fact : facts) script += fmt::format("# {}\n", printable(fact));
  script += fmt::format("OPERATOR = \"{}\"\n\n\ndef arguments(device):\n    return [\n{}    ]\n", operator_name, built);
  script += kTail;
  return script;
}

}  // namespace skewscope::efficiency
