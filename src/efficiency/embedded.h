// Documents of configs/ as the build put them into the library (skewscope_embed in CMakeLists.txt).
#pragma once

namespace skewscope::embedded {

const char* operator_categories();
const char* devices();

}  // namespace skewscope::embedded
