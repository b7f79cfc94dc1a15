#include "src/hang/dumps/json.h"

#include <fmt/format.h>
#include <simdjson.h>

namespace skewscope::hang {
namespace {

constexpr size_t kMostDepth = 64;

ValueId copy(const simdjson::dom::element& from, Document& into) {
  using Type = simdjson::dom::element_type;
  Value value;
  switch (from.type()) {
    case Type::ARRAY: {
      const ValueId id = into.add_container(ValueKind::list);
      for (const simdjson::dom::element item : simdjson::dom::array(from)) {
        const ValueId made = copy(item, into);
        into.items[into.at(id).items].push_back(made);
      }
      return id;
    }
    case Type::OBJECT: {
      const ValueId id = into.add_container(ValueKind::dict);
      for (const simdjson::dom::key_value_pair field : simdjson::dom::object(from)) {
        Value key;
        key.kind = ValueKind::text;
        key.text = into.decoded.emplace_back(field.key);
        const ValueId key_id = into.add(key), made = copy(field.value, into);
        std::vector<ValueId>& items = into.items[into.at(id).items];
        items.push_back(key_id);
        items.push_back(made);
      }
      return id;
    }
    case Type::INT64:
      value.kind = ValueKind::integer;
      value.integer = int64_t(from);
      return into.add(value);
    case Type::UINT64:
    case Type::DOUBLE:
      value.kind = ValueKind::real;
      value.real = double(from);
      return into.add(value);
    case Type::STRING:
      value.kind = ValueKind::text;
      value.text = into.decoded.emplace_back(std::string_view(from));
      return into.add(value);
    case Type::BOOL:
      value.kind = ValueKind::boolean;
      value.integer = bool(from) ? 1 : 0;
      return into.add(value);
    default:
      return into.add(value);
  }
}

}  // namespace

Result<Document> read_json(std::string_view bytes) {
  simdjson::dom::parser parser;
  if (parser.allocate(bytes.size(), kMostDepth) != simdjson::SUCCESS) {
    return Error{ErrorKind::no_input, "the JSON is too large"};
  }
  simdjson::dom::element root;
  const auto error = parser.parse(bytes.data(), bytes.size()).get(root);
  if (error) return Error{ErrorKind::no_input, fmt::format("no JSON: {}", simdjson::error_message(error))};
  Document document;
  document.root = copy(root, document);
  return document;
}

}  // namespace skewscope::hang
