#include "match_method.h"

namespace skewscope {

const char* to_string(MatchMethod method) {
  switch (method) {
    case MatchMethod::comms_id:
      return "comms_id";
    case MatchMethod::seq:
      return "seq";
    case MatchMethod::step:
      return "step";
    case MatchMethod::fingerprint:
      return "fingerprint";
  }
  return "fingerprint";
}

const char* to_string(UnmatchedReason reason) {
  switch (reason) {
    case UnmatchedReason::alone:
      return "alone";
    case UnmatchedReason::ambiguous:
      return "ambiguous";
    case UnmatchedReason::no_metadata:
      return "no_metadata";
    case UnmatchedReason::causality:
      return "causality";
    case UnmatchedReason::mismatch:
      return "mismatch";
    case UnmatchedReason::chained:
      return "chained";
    case UnmatchedReason::group_of_one:
      return "group_of_one";
    case UnmatchedReason::one_sided:
      return "one_sided";
    case UnmatchedReason::copied:
      return "copied";
    case UnmatchedReason::own_devices:
      return "own_devices";
  }
  return "alone";
}

}  // namespace skewscope
