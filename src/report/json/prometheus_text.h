// A job's figures in Prometheus' text form (exposition format 0.0.4), for a node exporter's textfile collector: base
// units, and labels that stay few: rank, communicator, collective, never a step or a call.
#pragma once

#include <string>

#include "skewscope/model/job_report.h"

namespace skewscope::report {

std::string prometheus_text(const JobReport& report);

}  // namespace skewscope::report
