// Problem: a launch hangs on up to a hundred operators and python functions, and there are as many launches as kernels:
// texts of all their stacks would be far longer than the trace.
//
// Idea: equal stacks are one node of a tree of names. A row's node is that of the row around it plus its own name, and
// each host row's node is made once. Only the stacks that are kept become texts. Traces of PyTorch 1.8 to 1.12 have no
// rows of Python functions: there each operator has its Python frames as an argument, and those of the outermost one
// are around all that it runs.
//
// Cost: one look-up per operator and python function that has a launch below it.
#include "stack_sums.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace skewscope::summarize {
namespace {

// Stacks as a tree of names: 0 is the empty one.
class Stacks {
 public:
  int32_t inside(int32_t outer, std::string_view name) {
    const auto [known, added] = numbers_.try_emplace({outer, name}, static_cast<int32_t>(nodes_.size()));
    if (added) nodes_.push_back({outer, name});
    return known->second;
  }
  // `frames`: innermost first, with ";" behind each.
  int32_t inside_frames(int32_t outer, std::string_view frames) {
    while (!frames.empty()) {
      if (frames.back() == ';') frames.remove_suffix(1);
      const size_t before = frames.rfind(';');
      const std::string_view frame = before == std::string_view::npos ? frames : frames.substr(before + 1);
      if (!frame.empty()) outer = inside(outer, frame);
      frames.remove_suffix(frame.size());
    }
    return outer;
  }
  // Innermost first, one a line.
  std::string text(int32_t stack) const {
    std::string lines;
    for (size_t frames = 0; stack != 0; stack = nodes_[static_cast<size_t>(stack)].outer) {
      if (++frames > kMostFrames) return lines + "\n…";
      lines += lines.empty() ? "" : "\n";
      lines += nodes_[static_cast<size_t>(stack)].name;
    }
    return lines;
  }

 private:
  struct Node {
    int32_t outer = 0;
    std::string_view name;  // of the strings of the trace
  };
  std::vector<Node> nodes_ = {{}};
  std::map<std::pair<int32_t, std::string_view>, int32_t> numbers_;
};

// "Call stack" of an operator; "": not recorded.
std::string_view recorded_frames(const OperatorView& view, int32_t row) {
  const int32_t set = view.host().arguments[static_cast<size_t>(row)];
  if (set < 0) return {};
  const StringId stack = view.detail.arguments[static_cast<size_t>(set)].call_stack;
  return stack.known() ? view.strings.view(stack) : std::string_view();
}

// The stack of a host row, itself included; `known`: by host row, -1: not asked yet.
int32_t stack_of(const OperatorView& view, int32_t row, Stacks& stacks, std::vector<int32_t>& known) {
  std::vector<int32_t> path;
  for (; row >= 0 && known[static_cast<size_t>(row)] < 0; row = view.tree.parent[static_cast<size_t>(row)]) {
    path.push_back(row);
  }
  int32_t stack = row < 0 ? 0 : known[static_cast<size_t>(row)];
  for (; !path.empty(); path.pop_back()) {
    const auto i = static_cast<size_t>(path.back());
    if (stack == 0) stack = stacks.inside_frames(stack, recorded_frames(view, path.back()));
    if (view.host().kind[i] != HostKind::annotation) stack = stacks.inside(stack, view.name(path.back()));
    known[i] = stack;
  }
  return stack;
}

}  // namespace

void add_stacks(const OperatorView& view, OperatorTables& tables) {
  struct Key {
    StringId kernel;
    int32_t stack;

    auto operator<=>(const Key&) const = default;
  };
  struct Sums {
    StringId launcher;
    int64_t launches = 0, gpu_ns = 0;
  };
  Stacks stacks;
  std::vector<int32_t> known(view.host().size(), -1);
  std::map<Key, Sums> sums;
  for (size_t i = 0; i < view.gpu().size(); ++i) {
    const int32_t launcher = view.launcher[i];
    if (launcher < 0) continue;
    Sums& of_stack = sums[{view.gpu().name[i], stack_of(view, launcher, stacks, known)}];
    of_stack.launcher = view.host().name[static_cast<size_t>(launcher)];
    ++of_stack.launches;
    of_stack.gpu_ns += view.gpu().duration_ns[i];
  }
  std::vector<std::pair<Key, Sums>> most(sums.begin(), sums.end());
  std::sort(most.begin(), most.end(), [](const auto& a, const auto& b) {
    return std::make_tuple(-a.second.gpu_ns, a.first) < std::make_tuple(-b.second.gpu_ns, b.first);
  });
  if (most.size() > kMostStacks) most.resize(kMostStacks);
  for (const auto& [key, of_stack] : most) {
    tables.stacks.push_back({std::string(view.strings.view(key.kernel)),
                             std::string(view.strings.view(of_stack.launcher)), stacks.text(key.stack),
                             of_stack.launches, of_stack.gpu_ns});
  }
}

}  // namespace skewscope::summarize
