#include "hlo_text.h"

#include <cctype>
#include <charconv>
#include <string>

namespace skewscope::ingest {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Up to the next `stop` outside of brackets; npos: none.
size_t find_outside_brackets(std::string_view text, char stop, size_t from) {
  int depth = 0;
  for (size_t at = from; at < text.size(); ++at) {
    const char c = text[at];
    if (depth == 0 && c == stop) return at;
    if (c == '(' || c == '[' || c == '{') ++depth;
    if ((c == ')' || c == ']' || c == '}') && --depth < 0) return std::string_view::npos;
  }
  return std::string_view::npos;
}

// Entry `part` of a tuple of shapes, or what is no tuple.
std::string_view part_of_shape_text(std::string_view shape, int part) {
  if (!shape.starts_with('(')) return shape;
  size_t begin = 1;
  for (int at = 0;; ++at) {
    const size_t comma = find_outside_brackets(shape, ',', begin);
    const size_t end = comma == std::string_view::npos ? shape.size() - 1 : comma;
    if (at == part) return shape.substr(begin, end - begin);
    if (comma == std::string_view::npos) return shape;
    begin = comma + 1;
  }
}

// Arrays of a shape: "f32[8,128]{1,0:T(8,128)}", or of a tuple of such. False: of several types, or too many elements.
bool sum_shape_text(std::string_view shape, std::string_view& type, int64_t& elements) {
  elements = 0;
  for (size_t open = shape.find('['); open != std::string_view::npos; open = shape.find('[', open + 1)) {
    size_t begin = open;
    while (begin > 0 && is_word(shape[begin - 1])) --begin;
    const std::string_view own = shape.substr(begin, open - begin);
    if (own.empty() || (!type.empty() && own != type)) return false;
    type = own;
    int64_t count = 1;
    for (size_t at = open + 1; at < shape.size() && shape[at] != ']';) {
      int64_t size = 0;
      const auto [end, error] = std::from_chars(shape.data() + at, shape.data() + shape.size(), size);
      if (error != std::errc() || size < 0 || (size > 0 && count > INT64_MAX / size)) return false;
      count *= size;
      at = static_cast<size_t>(end - shape.data());
      if (at < shape.size() && shape[at] == ',') ++at;
    }
    if (elements > INT64_MAX - count) return false;
    elements += count;
  }
  return !type.empty();
}

// What stands behind "key=" among the attributes; "": it is not there.
std::string_view attribute(std::string_view attributes, const std::string& key) {
  const size_t at = attributes.find(key + '=');
  if (at == std::string_view::npos || (at > 0 && is_word(attributes[at - 1]))) return {};
  return attributes.substr(at + key.size() + 1);
}

HloCollective collective_in(const HloOperation& operation, std::string_view opcode, std::string_view shape,
                            std::string_view attributes) {
  HloCollective collective;
  collective.operation = operation.operation;
  collective.permutes = operation.opcode == "collective-permute";
  const std::string_view channel = attribute(attributes, "channel_id");
  const bool has_channel = !channel.empty() && channel.front() >= '1' && channel.front() <= '9';
  collective.ids =
      group_ids(operation, has_channel, attribute(attributes, "use_global_device_ids").starts_with("true"));
  if (collective.permutes) {
    collective.groups = pairs_of_text(attribute(attributes, "source_target_pairs"));
  } else if (const std::string_view groups = attribute(attributes, "replica_groups"); !groups.empty()) {
    collective.groups = groups_of_text(groups);
  } else {
    collective.groups = DeviceGroups();
  }
  const bool in_and_out = is_start(opcode) && (collective.permutes || operation.opcode == "all-gather");
  std::string_view type;
  int64_t elements = 0;
  if (!sum_shape_text(in_and_out ? part_of_shape_text(shape, 1) : shape, type, elements)) return collective;
  collective.dtype = dtype_of_word(type);
  collective.elements = elements;
  return collective;
}

}  // namespace

std::optional<HloText> read_hlo_text(std::string_view text) {
  const size_t equals = text.find(" = ");
  if (equals == std::string_view::npos) return std::nullopt;
  HloText result;
  result.name = text.substr(0, equals);
  if (result.name.starts_with("ROOT ")) result.name.remove_prefix(5);
  if (result.name.starts_with('%')) result.name.remove_prefix(1);
  text.remove_prefix(equals + 3);
  const size_t space = find_outside_brackets(text, ' ', 0);
  if (space == std::string_view::npos) return std::nullopt;
  const std::string_view shape = text.substr(0, space);
  text.remove_prefix(space + 1);
  const size_t open = text.find('(');
  result.opcode = text.substr(0, open);
  if (open == std::string_view::npos || result.opcode.empty()) return std::nullopt;
  const HloOperation* operation = hlo_operation(result.opcode);
  if (operation == nullptr) return result;
  const size_t close = find_outside_brackets(text, ')', open + 1);
  const std::string_view attributes = close == std::string_view::npos ? std::string_view() : text.substr(close + 1);
  result.collective = collective_in(*operation, result.opcode, shape, attributes);
  return result;
}

}  // namespace skewscope::ingest
