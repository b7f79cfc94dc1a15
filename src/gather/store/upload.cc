#include "upload.h"

#include <algorithm>

namespace skewscope::gather {

Time expires(const UploadRow& row, const GatherLimits& most) {
  return std::min(row.created + most.upload_life, row.progress + most.upload_progress);
}

bool has_ended(const UploadRow& row, const Aging& aging, const GatherLimits& most) {
  if (row.stage == UploadStage::growing) return false;
  const Time end = is_open(row) ? expires(row, most) : row.created + 2 * most.upload_life;
  return aging.may_delete() && end < aging.now_for(row.created);
}

UploadState state_of(const UploadRow& row, const GatherLimits& most) {
  UploadState out;
  out.id = row.id;
  out.metadata = row.asked.metadata;
  out.said = row.asked.said;
  out.length = row.asked.length;
  out.complete = row.stage == UploadStage::complete;
  out.grows = row.stage == UploadStage::growing;
  out.offset = row.durable;
  if (out.complete) out.digest = row.digest;
  out.expires = expires(row, most);
  return out;
}

}  // namespace skewscope::gather
