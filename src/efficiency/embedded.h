// Documents of configs/ as the build put them into the library (skewscope_embed in CMakeLists.txt).
#pragma once

namespace skewscope::embedded {

extern const char* const operator_categories;
extern const char* const devices;

}  // namespace skewscope::embedded
