// What the report itself has to say about its own limits.
#pragma once

#include <string>
#include <string_view>

#include "rooms.h"

namespace skewscope::report {

// Codes that the summary asks for.
constexpr FindingCode kInconclusiveClocks = "inconclusive-clocks";
constexpr FindingCode kInferredCommunicators = "inferred-communicators";
constexpr FindingCode kUnknownWorldSize = "world-size-unknown";  // by ingest
constexpr FindingCode kAnotherJob = "another-job";               // by ingest
constexpr FindingCode kSeveralGroups = "several-groups";         // by ingest
constexpr FindingCode kOpenEnds = "open-ends";
// Also by ingest, of one rank each: what was launched or called, and is in no row of its GPU.
constexpr FindingCode kGpuRowsLost = "gpu-rows-lost";
constexpr FindingCode kNoGpuActivity = "no-gpu-activity";
constexpr FindingCode kCopiedCollectives = "copied-collectives";
constexpr FindingCode kCallsWithoutKernel = "calls-without-kernel";
constexpr FindingCode kKernelsLost = "kernels-lost";
constexpr FindingCode kUnknownKernels = "unknown-kernels";

// The code of the finding about calls that are unmatched for this reason.
FindingCode unmatched_code(UnmatchedReason reason);

// The first with this code; nullptr where there is none.
const Finding* find_finding(const Findings& findings, FindingCode code);

// Clocks that nobody compared: how many components there are, of the session that has most.
size_t most_components(const JobReport& report);

// Incomplete and mismatched instances, instances that were not split, clocks too uncertain for the waits seen, inferred
// groups, ties, unmatched calls by reason: each with its consequence. `report` holds `matching` already.
Findings own_findings(const Rooms& rooms, const JobReport& report);

}  // namespace skewscope::report
