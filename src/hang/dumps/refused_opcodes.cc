#include "src/hang/dumps/refused_opcodes.h"

#include <fmt/format.h>

#include <unordered_map>

namespace skewscope::hang {

std::string refused_opcode(unsigned char opcode) {
  static const std::unordered_map<unsigned char, const char*> names = {
      {'c', "GLOBAL"},     {0x93, "STACK_GLOBAL"}, {'R', "REDUCE"},       {'b', "BUILD"},           {'i', "INST"},
      {'o', "OBJ"},        {0x81, "NEWOBJ"},       {0x92, "NEWOBJ_EX"},   {0x82, "EXT1"},           {0x83, "EXT2"},
      {0x84, "EXT4"},      {'P', "PERSID"},        {'Q', "BINPERSID"},    {0x8f, "EMPTY_SET"},      {0x90, "ADDITEMS"},
      {0x91, "FROZENSET"}, {0x96, "BYTEARRAY8"},   {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};
  const auto name = names.find(opcode);
  if (name == names.end()) return fmt::format("0x{:02x} is no opcode of pickles", opcode);
  return fmt::format("opcode {} (0x{:02x}) makes more than plain values, and is refused", name->second, opcode);
}

}  // namespace skewscope::hang
