#include "skewscope/base/huge_pages.h"

#include <sys/prctl.h>

namespace skewscope {

void forbid_huge_pages() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

HugePages::HugePages() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }

}  // namespace skewscope
