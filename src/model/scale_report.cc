#include "skewscope/model/scale_report.h"

#include "skewscope/model/compare_report.h"

namespace skewscope {

const char* to_string(Scaling scaling) { return scaling == Scaling::weak ? "weak" : "strong"; }

const char* to_string(FactorTree tree) { return tree == FactorTree::pop ? "pop" : "gpu"; }

const char* to_string(ScaleFactor factor) {
  switch (factor) {
    case ScaleFactor::computation_scaling:
      return "computation_scaling";
    case ScaleFactor::load_balance:
      return "load_balance";
    case ScaleFactor::serialization:
      return "serialization";
    case ScaleFactor::transfer:
      return "transfer";
    case ScaleFactor::communication:
      return "communication";
    case ScaleFactor::gpu_communication:
      return "gpu_communication";
    case ScaleFactor::orchestration:
      return "orchestration";
  }
  return "";
}

const char* to_string(LossCause cause) {
  switch (cause) {
    case LossCause::rank:
      return "rank";
    case LossCause::communicator:
      return "communicator";
    case LossCause::kernel_operator:
      return "operator";
    case LossCause::host:
      return "host";
    case LossCause::idle:
      return "idle";
    case LossCause::other:
      return "other";
  }
  return "";
}

const char* to_string(TimePart part) {
  switch (part) {
    case TimePart::compute:
      return "compute";
    case TimePart::exposed_transfer:
      return "exposed_transfer";
    case TimePart::exposed_wait:
      return "exposed_wait";
    case TimePart::exposed_unattributed:
      return "exposed_unattributed";
    case TimePart::exposed_memcpy:
      return "exposed_memcpy";
    case TimePart::idle:
      return "idle";
    case TimePart::wait:
      return "wait";
    case TimePart::transfer:
      return "transfer";
    case TimePart::host_step:
      return "host_step";
    case TimePart::host_work:
      return "host_work";
    case TimePart::host_launch:
      return "host_launch";
    case TimePart::host_wait:
      return "host_wait";
    case TimePart::host_bound_idle:
      return "host_bound_idle";
  }
  return "";
}

}  // namespace skewscope
