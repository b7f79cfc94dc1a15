#include "operator_view.h"

#include "recompute.h"
#include "skewscope/efficiency/categories.h"

namespace skewscope::summarize {

OperatorView::OperatorView(const RankTrace& of_trace, const RankDetail& of_detail, const StringTable& of_strings,
                           const OperatorOptions& with_options)
    : trace(of_trace), detail(of_detail), strings(of_strings), options(with_options) {
  tree = call_tree(detail.host);
  launcher = launchers_of(detail, tree, strings);
  if (detail.has_python) recompute = recomputed_rows(detail.host, tree, strings);
}

std::string_view OperatorView::category(std::string_view launcher_name, std::string_view first_kernel) const {
  const KernelTable& kernels = options.communicating != nullptr ? *options.communicating : KernelTable::built_in();
  return options.linked_only ? efficiency::tracelens_category(launcher_name, first_kernel)
                             : efficiency::category(launcher_name, first_kernel, kernels);
}

ArgumentsText OperatorView::arguments(int32_t host_row) const {
  const int32_t set = host_row < 0 ? -1 : host().arguments[static_cast<size_t>(host_row)];
  if (set < 0) return {};
  const ArgumentSet& recorded = detail.arguments[static_cast<size_t>(set)];
  return {std::string(strings.view(recorded.dims)), std::string(strings.view(recorded.types)),
          std::string(strings.view(recorded.strides)), std::string(strings.view(recorded.values))};
}

}  // namespace skewscope::summarize
