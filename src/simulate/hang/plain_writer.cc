#include "src/simulate/hang/plain_writer.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace skewscope::simulate::hang {
namespace {

void add_little_endian(std::string& out, uint64_t number, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(number >> (8 * i) & 0xff);
}

}  // namespace

PlainWriter::PlainWriter(bool json) : json_(json), out_(json ? "" : "\x80\x02") {}

void PlainWriter::separate() {
  if (json_ && !first_) out_ += ", ";
  first_ = false;
}

PlainWriter& PlainWriter::begin_dict() {
  separate();
  out_ += json_ ? "{" : "}(";
  first_ = true;
  return *this;
}
PlainWriter& PlainWriter::end_dict() {
  out_ += json_ ? "}" : "u";
  first_ = false;
  return *this;
}
PlainWriter& PlainWriter::begin_list() {
  separate();
  out_ += json_ ? "[" : "](";
  first_ = true;
  return *this;
}
PlainWriter& PlainWriter::end_list() {
  out_ += json_ ? "]" : "e";
  first_ = false;
  return *this;
}

PlainWriter& PlainWriter::key(std::string_view name) {
  text(name);
  if (json_) {
    out_ += ": ";
    first_ = true;
  }
  return *this;
}

PlainWriter& PlainWriter::text(std::string_view text) {
  separate();
  if (json_) {
    out_ += fmt::format("\"{}\"", text);  // names of this simulation: nothing to escape
  } else {
    out_ += 'X';
    add_little_endian(out_, text.size(), 4);
    out_ += text;
  }
  return *this;
}

PlainWriter& PlainWriter::number(int64_t number) {
  separate();
  if (json_) {
    out_ += number < 0 ? "null" : fmt::format("{}", number);
  } else if (number < 0) {
    out_ += 'N';
  } else if (number < 256) {
    out_ += 'K';
    add_little_endian(out_, static_cast<uint64_t>(number), 1);
  } else if (number <= std::numeric_limits<int32_t>::max()) {
    out_ += 'J';
    add_little_endian(out_, static_cast<uint64_t>(number), 4);
  } else {
    out_ += "\x8a\x08";
    add_little_endian(out_, static_cast<uint64_t>(number), 8);
  }
  return *this;
}

PlainWriter& PlainWriter::whether(bool holds) {
  separate();
  out_ += json_ ? (holds ? "true" : "false") : (holds ? "\x88" : "\x89");
  return *this;
}

std::string PlainWriter::take() {
  if (!json_) out_ += '.';
  return std::move(out_);
}

}  // namespace skewscope::simulate::hang
