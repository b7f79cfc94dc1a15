#pragma once

namespace skewscope::embedded {

const char* hang_page();

}  // namespace skewscope::embedded
