// The words that summaries and pages use: `skewscope help terms`; the page's glossary is made of the same file.
#pragma once

#include <string>
#include <vector>

namespace skewscope::cli {

struct Term {
  std::string word, meaning;
};

std::vector<Term> glossary();

// For a terminal of so many columns.
std::string glossary_text(size_t columns);

}  // namespace skewscope::cli
