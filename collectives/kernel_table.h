// Which kernels communicate, and what they do, by their names. In this order: a table of kernels (configs/kernels.json,
// built into the library; a user's own of the same form comes before it), the libraries that launch one kernel for each
// collective, and, where neither knows a kernel, an operation's word in the name of its function.
//
// Namespaces, template arguments and parameters decide nothing, unless an entry of the table asks
// for a namespace.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/kind.h"
#include "skewscope/base/result.h"

namespace skewscope {

// What a kernel's name says of it.
struct KernelNature {
  bool communicates = false;
  CollectiveKind kind = CollectiveKind::unknown;  // unknown: communication whose operation the name does not tell
  // No kernel of a library whose collectives PyTorch records: custom all-reduces, symmetric memory, DeepEP, NVSHMEM. It
  // carries no group.
  bool custom = false;
  bool waits = true;          // false: it only sends, and ends whether or not others came
  bool only_by_word = false;  // neither the table nor a library knows it: a collective's word in its name is all
};

class KernelTable {
 public:
  static const KernelTable& built_in();
  // The built-in table behind the entries of a user's file of the same form: the first that fits decides. Errors: usage
  // (cannot be read, no JSON, or which entry lacks what).
  static Result<KernelTable> load(const std::string& path);
  static Result<KernelTable> parse(std::string_view json, const std::string& origin);

  KernelNature nature_of(std::string_view kernel_name) const;
  GpuWork work_of(std::string_view kernel_name) const;
  // Tells tables apart: letters and digits; "" for the built-in one.
  const std::string& mark() const { return mark_; }

  struct Entry {
    std::string space;     // a namespace that the kernel lies in; "": in any or none
    std::string function;  // its name, folded; '*' represents any text
    bool communicates = true;
    bool waits = true;
    std::optional<CollectiveKind> kind;  // nullopt: as a word in the function's name tells
  };

 private:
  std::vector<Entry> entries_;
  std::string mark_;
};

}  // namespace skewscope
