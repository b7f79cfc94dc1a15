#include "collectives/transport.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace skewscope {
namespace {

// By number.
constexpr std::array kAlgorithms = {"", "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
constexpr std::array kProtocols = {"", "ll", "ll128", "simple"};

bool is_called(std::string_view name, std::string_view known) {
  return std::equal(name.begin(), name.end(), known.begin(), known.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
  });
}

template <class Names>
size_t number_of(std::string_view name, const Names& names) {
  const auto at = std::find_if(names.begin(), names.end(), [&](const char* known) { return is_called(name, known); });
  return at == names.end() ? 0 : static_cast<size_t>(at - names.begin());
}

}  // namespace

const char* to_string(Algorithm algorithm) { return kAlgorithms[static_cast<size_t>(algorithm)]; }
const char* to_string(Protocol protocol) { return kProtocols[static_cast<size_t>(protocol)]; }

Algorithm algorithm_called(std::string_view name) { return static_cast<Algorithm>(number_of(name, kAlgorithms)); }
Protocol protocol_called(std::string_view name) { return static_cast<Protocol>(number_of(name, kProtocols)); }

}  // namespace skewscope
