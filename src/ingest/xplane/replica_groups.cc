#include "replica_groups.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "protobuf.h"

namespace skewscope::ingest {
namespace {

void append_numbers(protozero::pbf_reader& message, std::vector<int64_t>& numbers) {
  each_number(message, [&](int64_t number) {
    if (std::ssize(numbers) <= kMostHloDevices) numbers.push_back(number);
  });
}

// nullopt: more than there can be.
std::optional<int64_t> product(const std::vector<int64_t>& sizes) {
  int64_t all = 1;
  for (const int64_t size : sizes) {
    if (size < 1 || size > kMostHloDevices || all > kMostHloDevices / size) return std::nullopt;
    all *= size;
  }
  return all;
}

bool is_permutation_of(const std::vector<int64_t>& order, size_t count) {
  std::vector<bool> seen(count);
  for (const int64_t axis : order) {
    if (axis < 0 || std::cmp_greater_equal(axis, count) || seen[static_cast<size_t>(axis)]) return false;
    seen[static_cast<size_t>(axis)] = true;
  }
  return order.size() == count;
}

// `devices`, laid out row by row as an array of `sizes`, whose axes are then put in `order`; read row by row again.
std::vector<int64_t> transposed(const std::vector<int64_t>& devices, const std::vector<int64_t>& sizes,
                                const std::vector<int64_t>& order) {
  std::vector<int64_t> stride(sizes.size(), 1);
  for (size_t axis = sizes.size(); axis-- > 1;) stride[axis - 1] = stride[axis] * sizes[axis];
  std::vector<int64_t> at(order.size(), 0), result;
  result.reserve(devices.size());
  for (size_t i = 0; i < devices.size(); ++i) {
    int64_t place = 0;
    for (size_t k = 0; k < order.size(); ++k) place += at[k] * stride[static_cast<size_t>(order[k])];
    result.push_back(devices[static_cast<size_t>(place)]);
    for (size_t k = order.size(); k-- > 0;) {
      if (++at[k] < sizes[static_cast<size_t>(order[k])]) break;
      at[k] = 0;
    }
  }
  return result;
}

DeviceGroups in_groups_of(int64_t size, const std::vector<int64_t>& devices) {
  DeviceGroups groups;
  for (auto at = devices.begin(); devices.end() - at >= size; at += size) groups.emplace_back(at, at + size);
  return groups;
}

std::vector<int64_t> counted(int64_t count) {
  std::vector<int64_t> devices(static_cast<size_t>(count));
  std::iota(devices.begin(), devices.end(), 0);
  return devices;
}

std::optional<DeviceGroups> expanded(int64_t groups, int64_t size, const std::vector<int64_t>& sizes,
                                     std::vector<int64_t> order) {
  if (order.empty()) order = counted(std::ssize(sizes));
  const std::optional<int64_t> all = product(sizes), grouped = product({groups, size});
  if (!all || !grouped || *all != *grouped || !is_permutation_of(order, sizes.size())) return std::nullopt;
  return in_groups_of(size, transposed(counted(*all), sizes, order));
}

// Axes of a mesh, and those of them, or parts of them, whose devices are one group.
struct MeshGroups {
  struct Part {
    int64_t axis = 0;
    int64_t before = 1;  // product of the parts of the axis to the left
    int64_t size = -1;   // -1: the whole axis
  };
  std::vector<int64_t> sizes;
  std::vector<int64_t> devices;  // empty: counted
  std::vector<Part> grouped;
};

// Each axis is cut where a part begins or ends; the groups run along the parts, the last one fastest.
std::optional<DeviceGroups> expanded(const MeshGroups& mesh) {
  const std::optional<int64_t> all = product(mesh.sizes);
  if (!all || mesh.grouped.empty()) return std::nullopt;
  std::vector<int64_t> devices = mesh.devices.empty() ? counted(*all) : mesh.devices;
  if (std::ssize(devices) != *all) return std::nullopt;
  std::vector<int64_t> pieces;                                  // sizes after the cuts
  std::vector<int64_t> grouped(mesh.grouped.size(), -1), left;  // pieces that the groups run along; the others
  for (size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    std::vector<size_t> parts;
    for (size_t k = 0; k < mesh.grouped.size(); ++k) {
      if (std::cmp_equal(mesh.grouped[k].axis, axis)) parts.push_back(k);
    }
    std::sort(parts.begin(), parts.end(),
              [&](size_t a, size_t b) { return mesh.grouped[a].before < mesh.grouped[b].before; });
    int64_t done = 1;
    const auto piece = [&](int64_t size) {
      pieces.push_back(size);
      done *= size;
    };
    for (const size_t k : parts) {
      const MeshGroups::Part& part = mesh.grouped[k];
      const int64_t size = part.size < 0 ? mesh.sizes[axis] : part.size;
      const bool fits = part.before >= done && part.before % done == 0 && size > 0 && size <= mesh.sizes[axis] &&
                        part.before <= mesh.sizes[axis] / size;
      if (!fits) return std::nullopt;
      if (part.before > done) piece(part.before / done);
      grouped[k] = std::ssize(pieces);
      piece(size);
    }
    if (mesh.sizes[axis] % done != 0) return std::nullopt;
    if (mesh.sizes[axis] > done) piece(mesh.sizes[axis] / done);
  }
  int64_t size = 1;
  for (const int64_t k : grouped) {
    if (k < 0) return std::nullopt;
    size *= pieces[static_cast<size_t>(k)];
  }
  for (int64_t k = 0; k < std::ssize(pieces); ++k) {
    if (std::find(grouped.begin(), grouped.end(), k) == grouped.end()) left.push_back(k);
  }
  left.insert(left.end(), grouped.begin(), grouped.end());
  return in_groups_of(size, transposed(devices, pieces, left));
}

// ---- text -----------------------------------------------------------------------------------------------------------

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool take(std::string_view word) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::optional<int64_t> number() {
    take("");
    const size_t begin = at_;
    int64_t value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value < INT64_MAX / 16) {
      value = 10 * value + (text_[at_++] - '0');
    }
    return at_ == begin ? std::nullopt : std::optional(value);
  }
  // Numbers between commas, up to `end`, which is taken.
  std::optional<std::vector<int64_t>> numbers(std::string_view end) {
    std::vector<int64_t> list;
    if (take(end)) return list;
    do {
      const std::optional<int64_t> value = number();
      if (!value || std::ssize(list) >= kMostHloDevices) return std::nullopt;
      list.push_back(*value);
    } while (take(","));
    return take(end) ? std::optional(list) : std::nullopt;
  }
  // A name, with quotes or without.
  std::string name() {
    take("");
    const char quote = at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"') ? text_[at_++] : '\0';
    const size_t end = quote != '\0' ? text_.find(quote, at_) : text_.find_first_of("=,:}] ", at_);
    std::string word(text_.substr(at_, end == std::string_view::npos ? end : end - at_));
    at_ = std::min(text_.size(), at_ + word.size() + (quote != '\0' ? 1 : 0));
    return word;
  }

 private:
  std::string_view text_;
  size_t at_ = 0;
};

std::optional<DeviceGroups> lists_of_text(TextCursor& text) {
  DeviceGroups groups;
  if (text.take("}")) return groups;
  do {
    if (!text.take("{")) return std::nullopt;
    std::optional<std::vector<int64_t>> group = text.numbers("}");
    if (!group || std::ssize(groups) >= kMostHloDevices) return std::nullopt;
    groups.push_back(std::move(*group));
  } while (text.take(","));
  return text.take("}") ? std::optional(groups) : std::nullopt;
}

// "[4,2]<=[2,4]T(1,0)", "[8]<=[8]".
std::optional<DeviceGroups> count_of_text(TextCursor& text) {
  const std::optional<std::vector<int64_t>> shape = text.numbers("]");
  if (!shape || shape->empty() || shape->size() > 2 || !text.take("<=") || !text.take("[")) return std::nullopt;
  const std::optional<std::vector<int64_t>> sizes = text.numbers("]");
  if (!sizes) return std::nullopt;
  std::vector<int64_t> order;
  if (text.take("T")) {
    const std::optional<std::vector<int64_t>> told = text.take("(") ? text.numbers(")") : std::nullopt;
    if (!told) return std::nullopt;
    order = *told;
  }
  const bool flat = shape->size() == 1;
  return expanded(flat ? 1 : shape->front(), shape->back(), *sizes, order);
}

// "['x'=2,'y'=4], device_ids=([..]) {'y','x':(1)2}"
std::optional<DeviceGroups> mesh_of_text(TextCursor& text) {
  MeshGroups mesh;
  std::vector<std::string> names;
  if (!text.take("[") && !text.take("<")) return std::nullopt;
  do {
    names.push_back(text.name());
    const std::optional<int64_t> size = text.take("=") ? text.number() : std::nullopt;
    if (!size || names.size() > 64) return std::nullopt;
    mesh.sizes.push_back(*size);
  } while (text.take(","));
  if (!text.take("]") && !text.take(">")) return std::nullopt;
  text.take(",");
  if (text.take("device_ids=")) {
    const bool wrapped = text.take("(");
    const std::optional<std::vector<int64_t>> devices = text.take("[") ? text.numbers("]") : std::nullopt;
    if (!devices || (wrapped && !text.take(")"))) return std::nullopt;
    mesh.devices = *devices;
    text.take(",");
  }
  if (!text.take("{")) return std::nullopt;
  do {
    const std::string name = text.name();
    const auto axis = std::find(names.begin(), names.end(), name);
    MeshGroups::Part part{axis - names.begin(), 1, -1};
    if (text.take(":")) {
      const std::optional<int64_t> before = text.take("(") ? text.number() : std::nullopt;
      const std::optional<int64_t> size = before && text.take(")") ? text.number() : std::nullopt;
      if (!size) return std::nullopt;
      part.before = *before;
      part.size = *size;
    }
    if (axis == names.end() || mesh.grouped.size() > 64) return std::nullopt;
    mesh.grouped.push_back(part);
  } while (text.take(","));
  return text.take("}") ? expanded(mesh) : std::nullopt;
}

MeshGroups::Part part_of_message(protozero::pbf_reader axis) {
  MeshGroups::Part part;
  while (axis.next()) {
    if (axis.tag() == 1) {
      part.axis = axis.get_int64();
    } else if (axis.tag() == 2) {
      protozero::pbf_reader inner = axis.get_message();
      part.size = 0;
      while (inner.next()) {
        if (inner.tag() == 1) {
          part.before = inner.get_int64();
        } else if (inner.tag() == 2) {
          part.size = inner.get_int64();
        } else {
          inner.skip();
        }
      }
    } else {
      axis.skip();
    }
  }
  return part;
}

MeshGroups mesh_of_message(protozero::pbf_reader list) {
  MeshGroups mesh;
  while (list.next()) {
    if (list.tag() == 2) {
      mesh.grouped.push_back(part_of_message(list.get_message()));
    } else if (list.tag() != 1) {
      list.skip();
    } else {
      protozero::pbf_reader inner = list.get_message();
      while (inner.next()) {
        if (inner.tag() == 1) {
          protozero::pbf_reader axis = inner.get_message();
          mesh.sizes.push_back(1);
          while (axis.next()) axis.tag() == 2 ? void(mesh.sizes.back() = axis.get_int64()) : axis.skip();
        } else if (inner.tag() == 2) {
          append_numbers(inner, mesh.devices);
        } else {
          inner.skip();
        }
      }
    }
  }
  return mesh;
}

}  // namespace

std::optional<DeviceGroups> groups_of_lists(const std::vector<std::string_view>& replica_groups) try {
  DeviceGroups groups;
  if (std::ssize(replica_groups) > kMostHloDevices) return std::nullopt;
  for (const std::string_view bytes : replica_groups) {
    protozero::pbf_reader group = message_of(bytes);
    groups.emplace_back();
    while (group.next()) group.tag() == 1 ? append_numbers(group, groups.back()) : group.skip();
  }
  return groups;
} catch (const protozero::exception&) {
  return std::nullopt;
}

std::optional<DeviceGroups> groups_of_count(std::string_view iota_replica_group_list) try {
  protozero::pbf_reader list = message_of(iota_replica_group_list);
  int64_t groups = 0, size = 0;
  std::vector<int64_t> sizes, order;
  while (list.next()) {
    if (list.tag() == 1) {
      groups = list.get_int64();
    } else if (list.tag() == 2) {
      size = list.get_int64();
    } else if (list.tag() == 3) {
      append_numbers(list, sizes);
    } else if (list.tag() == 4) {
      append_numbers(list, order);
    } else {
      list.skip();
    }
  }
  return expanded(groups, size, sizes, order);
} catch (const protozero::exception&) {
  return std::nullopt;
}

std::optional<DeviceGroups> groups_of_mesh(std::string_view mesh_axes_replica_group_list) try {
  const MeshGroups mesh = mesh_of_message(message_of(mesh_axes_replica_group_list));
  const bool plausible = mesh.sizes.size() <= 64 && mesh.grouped.size() <= 64;
  return plausible ? expanded(mesh) : std::nullopt;
} catch (const protozero::exception&) {
  return std::nullopt;
}

std::optional<DeviceGroups> groups_of_device_list(std::string_view collective_device_list) try {
  protozero::pbf_reader list = message_of(collective_device_list);
  std::vector<std::string_view> groups;
  while (list.next() && std::ssize(groups) <= kMostHloDevices) {
    if (list.tag() == 1) {
      const protozero::data_view group = list.get_view();
      groups.emplace_back(group.data(), group.size());
    } else if (list.tag() == 2) {
      const protozero::data_view count = list.get_view();
      return groups_of_count({count.data(), count.size()});
    } else {
      list.skip();
    }
  }
  return groups_of_lists(groups);
} catch (const protozero::exception&) {
  return std::nullopt;
}

std::optional<DeviceGroups> groups_of_text(std::string_view text) {
  TextCursor cursor(text);
  if (cursor.take("{")) return lists_of_text(cursor);
  if (cursor.take("[")) return count_of_text(cursor);
  cursor.take("@");
  return cursor.take("mesh") ? mesh_of_text(cursor) : std::nullopt;
}

std::optional<DeviceGroups> pairs_of_text(std::string_view text) {
  TextCursor cursor(text);
  return cursor.take("{") ? lists_of_text(cursor) : std::nullopt;
}

}  // namespace skewscope::ingest
