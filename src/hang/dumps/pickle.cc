// Problem: dumps are pickles, and a pickle is a program that may import and call anything.
// Idea: the machine of the format without the opcodes that name, call or build objects: what is left makes None, bool,
// int, float, str, bytes, list, tuple and dict, and nothing else can happen. A tuple becomes a list.
// Why it is bounded: each opcode is at least a byte and makes at most one value, and what it takes from the stack was
// put there by others, so that values, lists and memo are linear in the bytes; lengths are held against the bytes that
// are left; nothing recurses.
// Source: the opcodes' documentation in CPython's module pickletools.
#include "src/hang/dumps/pickle.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "src/hang/dumps/refused_opcodes.h"

namespace skewscope::hang {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 31;  // numbers of values fit

class Machine {
 public:
  explicit Machine(std::string_view bytes) : bytes_(bytes) {}

  Result<Document> run() {
    if (bytes_.size() > kMostBytes) return Error{ErrorKind::no_input, "the pickle is larger than 2 GiB"};
    while (problem_.empty()) {
      if (at_ >= bytes_.size()) {
        problem_ = "the pickle ends before its STOP";
        opcode_at_ = at_;
        break;
      }
      opcode_at_ = at_;
      const unsigned char opcode = static_cast<unsigned char>(bytes_[at_++]);
      if (opcode == '.') {
        if (stack_.empty()) fail("STOP with nothing to give");
        if (problem_.empty()) {
          document_.root = stack_.back();
          return std::move(document_);
        }
      } else if (!number(opcode) && !text(opcode) && !container(opcode) && !machine(opcode)) {
        fail(refused_opcode(opcode));
      }
    }
    return Error{ErrorKind::no_input, fmt::format("{} (at byte {})", problem_, opcode_at_)};
  }

 private:
  void fail(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }

  std::string_view take(uint64_t size) {
    if (size > bytes_.size() - at_) {
      fail("a value ends behind the end of the file");
      return {};
    }
    const std::string_view taken = bytes_.substr(at_, static_cast<size_t>(size));
    at_ += static_cast<size_t>(size);
    return taken;
  }

  uint64_t little(size_t size) {
    uint64_t number = 0;
    const std::string_view taken = take(size);
    for (size_t i = 0; i < taken.size(); ++i) number |= uint64_t{static_cast<unsigned char>(taken[i])} << (8 * i);
    return number;
  }

  // Up to the end of the line, which is passed.
  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) {
      fail("a line has no end");
      return {};
    }
    const std::string_view taken = bytes_.substr(at_, end - at_);
    at_ = end + 1;
    return taken;
  }

  void push(ValueId id) { stack_.push_back(id); }
  void push_integer(int64_t integer, ValueKind kind = ValueKind::integer) {
    Value value;
    value.kind = kind;
    value.integer = integer;
    push(document_.add(value));
  }
  void push_real(double real) {
    Value value;
    value.kind = ValueKind::real;
    value.real = real;
    push(document_.add(value));
  }
  void push_text(std::string_view text) {
    Value value;
    value.kind = ValueKind::text;
    value.text = text;
    push(document_.add(value));
  }

  void push_long(std::string_view little_endian) {
    if (little_endian.size() > 8) return fail("an integer has more than 64 bits");
    uint64_t number = !little_endian.empty() && (little_endian.back() & 0x80) != 0 ? ~uint64_t{0} : 0;
    for (size_t i = 0; i < little_endian.size(); ++i) {
      number &= ~(uint64_t{0xff} << (8 * i));
      number |= uint64_t{static_cast<unsigned char>(little_endian[i])} << (8 * i);
    }
    push_integer(std::bit_cast<int64_t>(number));
  }

  void push_decimal(std::string_view digits) {
    if (digits.ends_with('L')) digits.remove_suffix(1);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) return fail("no integer of 64 bits");
    push_integer(number);
  }

  void push_float_text(std::string_view digits) {
    double real = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    if (error != std::errc() || end != digits.data() + digits.size()) return fail("no number");
    push_real(real);
  }

  void push_big_endian_double() {
    const std::string_view taken = take(8);
    uint64_t bits = 0;
    for (const char byte : taken) bits = bits << 8 | static_cast<unsigned char>(byte);
    push_real(std::bit_cast<double>(bits));
  }

  bool number(unsigned char opcode) {
    switch (opcode) {
      case 'N':
        push(document_.add({}));
        return true;
      case 0x88:
        push_integer(1, ValueKind::boolean);
        return true;
      case 0x89:
        push_integer(0, ValueKind::boolean);
        return true;
      case 'K':
        push_integer(static_cast<int64_t>(little(1)));
        return true;
      case 'M':
        push_integer(static_cast<int64_t>(little(2)));
        return true;
      case 'J':
        push_integer(static_cast<int32_t>(static_cast<uint32_t>(little(4))));
        return true;
      case 0x8a:
        push_long(take(little(1)));
        return true;
      case 0x8b:
        push_long(take(little(4)));
        return true;
      case 'G':
        push_big_endian_double();
        return true;
      case 'F':
        push_float_text(line());
        return true;
      case 'L':
        push_decimal(line());
        return true;
      case 'I': {
        const std::string_view digits = line();
        if (digits == "00" || digits == "01") {
          push_integer(digits == "01" ? 1 : 0, ValueKind::boolean);
        } else {
          push_decimal(digits);
        }
        return true;
      }
      default:
        return false;
    }
  }

  // Protocol 0: quoted, with escapes that these dumps do not need but for the quote and the backslash.
  void push_quoted(std::string_view quoted) {
    if (quoted.size() < 2 || quoted.front() != quoted.back() || (quoted.front() != '\'' && quoted.front() != '"')) {
      return fail("a text has no quotes");
    }
    push_unescaped(quoted.substr(1, quoted.size() - 2));
  }

  void push_unescaped(std::string_view raw) {
    if (raw.find('\\') == std::string_view::npos) return push_text(raw);
    std::string& out = document_.decoded.emplace_back();
    for (size_t i = 0; i < raw.size(); ++i) {
      const bool escaped =
          raw[i] == '\\' && i + 1 < raw.size() && (raw[i + 1] == '\\' || raw[i + 1] == '\'' || raw[i + 1] == '"');
      out += raw[i += escaped ? 1 : 0];
    }
    push_text(out);
  }

  bool text(unsigned char opcode) {
    switch (opcode) {
      case 'X':
      case 'B':
      case 'T':
        push_text(take(little(4)));
        return true;
      case 0x8c:
      case 'C':
      case 'U':
        push_text(take(little(1)));
        return true;
      case 0x8d:
      case 0x8e:
        push_text(take(little(8)));
        return true;
      case 'S':
        push_quoted(line());
        return true;
      case 'V':
        push_unescaped(line());
        return true;
      default:
        return false;
    }
  }

  // What was put on the stack since the last MARK, which goes with it.
  std::vector<ValueId> since_mark() {
    if (marks_.empty()) {
      fail("no MARK is on the stack");
      return {};
    }
    const auto begin = stack_.begin() + static_cast<int64_t>(marks_.back());
    std::vector<ValueId> taken(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return taken;
  }

  std::vector<ValueId> last(size_t count) {
    if (stack_.size() < count || (!marks_.empty() && stack_.size() - count < marks_.back())) {
      fail("the stack holds too little");
      return {};
    }
    std::vector<ValueId> taken(stack_.end() - static_cast<int64_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return taken;
  }

  void push_container(ValueKind kind, std::vector<ValueId> taken) {
    if (kind == ValueKind::dict && taken.size() % 2 != 0) return fail("a dict has a key without a value");
    const ValueId id = document_.add_container(kind);
    document_.items[document_.at(id).items] = std::move(taken);
    push(id);
  }

  // Into the container that is on top then.
  void extend(ValueKind kind, const std::vector<ValueId>& taken) {
    if (!problem_.empty()) return;
    if (stack_.empty() || document_.at(stack_.back()).kind != kind) return fail("no list or dict to add to");
    if (kind == ValueKind::dict && taken.size() % 2 != 0) return fail("a dict has a key without a value");
    std::vector<ValueId>& items = document_.items[document_.at(stack_.back()).items];
    items.insert(items.end(), taken.begin(), taken.end());
  }

  bool container(unsigned char opcode) {
    switch (opcode) {
      case ']':
      case ')':
        push_container(ValueKind::list, {});
        return true;
      case '}':
        push_container(ValueKind::dict, {});
        return true;
      case 'l':
      case 't':
        push_container(ValueKind::list, since_mark());
        return true;
      case 'd':
        push_container(ValueKind::dict, since_mark());
        return true;
      case 0x85:
        push_container(ValueKind::list, last(1));
        return true;
      case 0x86:
        push_container(ValueKind::list, last(2));
        return true;
      case 0x87:
        push_container(ValueKind::list, last(3));
        return true;
      case 'a':
        extend(ValueKind::list, last(1));
        return true;
      case 'e':
        extend(ValueKind::list, since_mark());
        return true;
      case 's':
        extend(ValueKind::dict, last(2));
        return true;
      case 'u':
        extend(ValueKind::dict, since_mark());
        return true;
      default:
        return false;
    }
  }

  void put(uint64_t number) {
    if (stack_.empty()) return fail("nothing to remember");
    memo_[number] = stack_.back();
  }
  void get(uint64_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) return fail("what is asked for was not remembered");
    push(found->second);
  }
  uint64_t memo_line() {
    uint64_t number = 0;
    const std::string_view digits = line();
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || end != digits.data() + digits.size()) fail("no number of the memo");
    return number;
  }

  bool machine(unsigned char opcode) {
    switch (opcode) {
      case 0x80:
        if (little(1) > 5) fail("a protocol above 5");
        return true;
      case 0x95:
        if (little(8) > bytes_.size() - at_) fail("a frame ends behind the end of the file");
        return true;
      case '(':
        marks_.push_back(stack_.size());
        return true;
      case '0':
        last(1);
        return true;
      case '1':
        since_mark();
        return true;
      case '2':
        if (stack_.empty())
          fail("nothing to double");
        else
          push(stack_.back());
        return true;
      case 'p':
        put(memo_line());
        return true;
      case 'q':
        put(little(1));
        return true;
      case 'r':
        put(little(4));
        return true;
      case 0x94:
        put(memo_.size());
        return true;
      case 'g':
        get(memo_line());
        return true;
      case 'h':
        get(little(1));
        return true;
      case 'j':
        get(little(4));
        return true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  size_t at_ = 0, opcode_at_ = 0;
  std::vector<ValueId> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, ValueId> memo_;
  Document document_;
  std::string problem_;
};

}  // namespace

Result<Document> read_pickle(std::string_view bytes) { return Machine(bytes).run(); }

}  // namespace skewscope::hang
