// A whole file becomes part of its job.
#pragma once

#include "uploads.h"

namespace skewscope::gather {

// An operation of `upload`, whose bytes are all there; ends with Uploads::next().
void commit_file(Core& core, Uploads& uploads, const UploadPointer& upload, const Reply<UploadState>& done);

}  // namespace skewscope::gather
