// Field numbers of Perfetto's public schema (protos/perfetto/trace/**.proto), as far as they are read.
#pragma once

#include <cstdint>

namespace skewscope::ingest::pftrace_field {

constexpr uint32_t kPacket = 1;  // of a trace

// TracePacket
constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11, kInternedData = 12,
                   kSequenceFlags = 13, kStateClearedOld = 41, kPreviousDropped = 42, kCompressedPackets = 50,
                   kRenderStage = 53, kTimestampClock = 58, kDefaults = 59, kTrackDescriptor = 60,
                   kZstdCompressedPackets = 133;
constexpr uint32_t kStateCleared = 1, kNeedsState = 2;  // of kSequenceFlags

// ClockSnapshot, and a clock of it
constexpr uint32_t kClocks = 1;
constexpr uint32_t kClockId = 1, kClockTimestamp = 2, kClockIncremental = 3, kClockUnit = 4;

// TracePacketDefaults
constexpr uint32_t kEventDefaults = 11, kDefaultClock = 58;

// TrackDescriptor, ProcessDescriptor, ThreadDescriptor
constexpr uint32_t kUuid = 1, kTrackName = 2, kProcess = 3, kThread = 4, kParentUuid = 5;
constexpr uint32_t kProcessPid = 1, kProcessName = 6;
constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;

// TrackEvent
constexpr uint32_t kCategoryIds = 3, kAnnotations = 4, kType = 9, kNameId = 10, kTrackUuid = 11, kCategories = 22,
                   kName = 23;
constexpr uint32_t kBegin = 1, kEnd = 2;  // of kType

// DebugAnnotation
constexpr uint32_t kAnnotationNameId = 1, kBool = 2, kUnsigned = 3, kSigned = 4, kDouble = 5, kText = 6, kPointer = 7,
                   kAnnotationName = 10, kDictEntries = 11, kArrayValues = 12, kTextId = 17;

// InternedData, and its entries
constexpr uint32_t kInternedCategories = 1, kInternedNames = 2, kInternedAnnotationNames = 3, kInternedContexts = 23,
                   kInternedSpecifications = 24, kInternedTexts = 29;
constexpr uint32_t kId = 1, kIdText = 2;
constexpr uint32_t kContextPid = 2;

// GpuRenderStageEvent, its extra data, launch and grid
constexpr uint32_t kDuration = 2, kContext = 5, kExtraData = 6, kGpuId = 11, kQueueId = 13, kStageId = 14,
                   kStageName = 17, kStageNameId = 20, kLaunch = 21;
constexpr uint32_t kExtraName = 1, kExtraValue = 2;
constexpr uint32_t kGridSize = 1, kX = 1, kY = 2, kZ = 3;

}  // namespace skewscope::ingest::pftrace_field
