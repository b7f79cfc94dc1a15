// Sources: NVTX's payload extension (types of entries); NCCL's payload schemas (names of fields);
// the header of 32 bytes as nsys 2026 writes it.
#include "payloads.h"

#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "src/ingest/text/number_text.h"

namespace skewscope::ingest {
namespace {

using namespace std::string_view_literals;

constexpr size_t kHeaderBytes = 32, kSchemaAt = 8, kPayloadSizeAt = 16;
constexpr size_t kMostSchemas = 4096, kMostFields = 64;

struct PayloadField {
  std::string_view name;
  int64_t NcclPayload::*member;  // null: the communicator
};
constexpr std::array kPayloadFields = {
    PayloadField{"NCCL communicator ID"sv, nullptr}, PayloadField{"No. of ranks"sv, &NcclPayload::ranks},
    PayloadField{"Rank"sv, &NcclPayload::rank},      PayloadField{"Message size [bytes]"sv, &NcclPayload::bytes},
    PayloadField{"Root"sv, &NcclPayload::root},      PayloadField{"Peer rank"sv, &NcclPayload::peer},
};

const PayloadField* payload_field(std::string_view name) {
  for (const PayloadField& field : kPayloadFields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

struct NumberForm {
  size_t bytes;
  bool is_signed;
};

// Of Linux on 64 bits.
std::optional<NumberForm> form_of_entry(int64_t type) {
  switch (type) {
    case 5:   // int
    case 15:  // int32_t
      return NumberForm{4, true};
    case 6:   // unsigned
    case 16:  // uint32_t
      return NumberForm{4, false};
    case 7:   // long
    case 9:   // long long
    case 17:  // int64_t
      return NumberForm{8, true};
    case 8:   // unsigned long
    case 10:  // unsigned long long
    case 18:  // uint64_t
    case 22:  // size_t
      return NumberForm{8, false};
    default:
      return std::nullopt;
  }
}

uint64_t number_at(std::string_view data, size_t at, size_t bytes) {
  uint64_t number = 0;
  std::memcpy(&number, data.data() + at, bytes);
  return number;
}

void set_field(int64_t NcclPayload::*member, int64_t value, NcclPayload& payload) {
  if (member == nullptr) {
    payload.communicator = static_cast<uint64_t>(value);
  } else {
    payload.*member = value < 0 ? -1 : value;
  }
}

}  // namespace

void PayloadSchemas::read(const Database& database, RowDefects& defects) {
  std::set<std::pair<SchemaKey, int64_t>> seen;  // each process registers them again
  visit_rows(database, "NVTX_PAYLOAD_SCHEMA_ENTRIES", {"domainId", "schemaId", "idx", "type", "name", "offset"},
             defects, [&](const Statement& row) {
               const PayloadField* field = payload_field(row.text(4));
               if (field == nullptr) return true;
               const SchemaKey key{row.integer(0), row.integer(1)};
               if (!seen.emplace(key, row.integer(2)).second) return true;
               std::vector<Field>& fields = schemas_[key];
               const int64_t offset = row.integer(5);
               if (offset >= 0 && fields.size() < kMostFields)
                 fields.push_back({field->member, static_cast<uint64_t>(offset), row.integer(3)});
               return schemas_.size() < kMostSchemas;
             });
}

NcclPayload PayloadSchemas::of_binary(std::string_view data) const {
  NcclPayload payload;
  if (data.size() < kHeaderBytes) return payload;
  const SchemaKey key{static_cast<int64_t>(number_at(data, 0, 4)), static_cast<int64_t>(number_at(data, kSchemaAt, 4))};
  const auto schema = schemas_.find(key);
  const uint64_t size = number_at(data, kPayloadSizeAt, 8);
  if (schema == schemas_.end() || size > data.size() - kHeaderBytes) return payload;
  for (const Field& field : schema->second) {
    const std::optional<NumberForm> form = form_of_entry(field.type);
    if (!form || field.offset > size || form->bytes > size - field.offset) continue;
    const uint64_t raw = number_at(data, kHeaderBytes + field.offset, form->bytes);
    const bool narrow = form->bytes == 4 && form->is_signed;
    set_field(field.member, narrow ? int64_t{static_cast<int32_t>(raw)} : static_cast<int64_t>(raw), payload);
  }
  return payload;
}

NcclPayload PayloadSchemas::of_json(std::string_view json) {
  NcclPayload payload;
  for (const PayloadField& field : kPayloadFields) {
    const std::string key = '"' + std::string(field.name) + '"';
    const size_t at = json.find(key);
    size_t colon = at == std::string_view::npos ? at : json.find_first_not_of(" \t\r\n", at + key.size());
    if (colon == std::string_view::npos || json[colon] != ':') continue;
    const std::string_view rest = json.substr(colon + 1);
    const std::string_view token = rest.substr(0, rest.find_first_of(",}]"));
    uint64_t value = 0;
    if (read_unsigned(trimmed(token), value)) set_field(field.member, static_cast<int64_t>(value), payload);
  }
  return payload;
}

}  // namespace skewscope::ingest
