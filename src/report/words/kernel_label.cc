#include "kernel_label.h"

#include <array>

namespace skewscope::report {
namespace {

void remove_all(std::string& text, std::string_view part) {
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at)) text.erase(at, part.size());
}

bool is_word(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_'; }

// The last word of the template's arguments that says what an ATen kernel calculates; "" for none.
std::string_view calculation(std::string_view arguments) {
  constexpr std::array<std::string_view, 4> kParts = {"Functor", "_kernel_cuda", "_kernel_impl", "Ops"};
  std::string_view found;
  for (size_t at = 0; at < arguments.size();) {
    size_t end = at;
    while (end < arguments.size() && is_word(arguments[end])) ++end;
    const std::string_view word = arguments.substr(at, end - at);
    const bool wrapper = word == "BinaryFunctor" || word == "BUnaryFunctor" || word == "AUnaryFunctor";
    for (const std::string_view part : kParts) {
      if (word.size() > part.size() && word.find(part) != std::string_view::npos && !wrapper) found = word;
    }
    at = end + 1;
  }
  return found;
}

}  // namespace

std::string kernel_label(std::string_view name) {
  const size_t condition = name.starts_with("std::enable_if<") ? name.find("::type ") : std::string_view::npos;
  if (condition != std::string_view::npos) name.remove_prefix(condition + 7);  // a return type, too
  std::string text(name.starts_with("void ") ? name.substr(5) : name);
  for (const std::string_view part : {"at::native::", "(anonymous namespace)::"}) remove_all(text, part);
  const size_t open = text.find('<');
  const size_t arguments = text.find('(', open == std::string::npos ? 0 : text.rfind('>'));
  const bool called = arguments != std::string::npos && arguments > 0 && text[arguments - 1] != ' ';
  if (called && text.back() == ')') text.resize(arguments);
  if (open == std::string::npos || name.find("at::native") == std::string_view::npos) return text;
  const std::string_view what = calculation(std::string_view(text).substr(open));
  return what.empty() ? text : std::string(what) + ": " + text.substr(0, open);
}

std::string work_label(const WorkRow& row) {
  std::string text = row.name + " " + row.parameters;
  for (const std::string_view part : {"aten::", "B=1 ", " bias=false", "op_shape=", "shape_in1=", "convNd="}) {
    remove_all(text, part);
  }
  return text;
}

}  // namespace skewscope::report
