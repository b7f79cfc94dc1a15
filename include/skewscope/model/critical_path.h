// Data: the critical path of a step: at every moment of it, the one thing that the program was waiting for. It is
// followed backwards from the step's end: what ends there began when something else ended, the last that it needed; and
// so on. Its parts are disjoint and cover the step, so their times sum to its length, exactly.
//
// A step is cut as tb_plugin cuts it: it ends with its range on the host, or with the last GPU row launched in it if
// that is later; it begins with its range, or when the step before it has ended. The trace as a whole where it has no
// steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skewscope {

enum class PathKind : uint8_t {
  host_operator,      // an operator itself, without what ran within it
  runtime_call,       // a call of the runtime or driver
  between_operators,  // the host, where no operator and no call was recorded: Python, data loading, other libraries
  launch_delay,       // from the start of the call to the start of the row it launched, where the stream was empty
  computation,        // kernels and fills
  communication,      // kernels; waiting for other ranks is in it
  copy,
  kernel_delay,     // from the end of a row to the start of the next one of its stream, if under 1.5 ms
  synchronization,  // from the end of a row to the return of the call, or the start of the row, that waited for it
  unexplained,      // the GPU stood still, and nothing recorded tells why
};
constexpr size_t kPathKinds = 10;
const char* to_string(PathKind kind);
// In words, for people: "launch delay".
const char* words_of(PathKind kind);

// What of one step's path is of one kind; kinds without time have no row.
struct PathKindRow {
  int64_t step = -1;      // N of ProfilerStep#N; -1: the trace
  int64_t start_ns = 0;   // of the step, since RankTrace::first_event
  int64_t length_ns = 0;  // of the step
  PathKind kind = PathKind::unexplained;
  int64_t time_ns = 0;
  double share = 0;         // of the step's length
  int64_t profiler_ns = 0;  // part of time_ns, of delays alone: the profiler refilled its buffers meanwhile
};

// What of all steps' paths is of one kind and name: of the operator or call, of the GPU row that ran or was delayed, of
// the call or row that had waited.
struct PathNameRow {
  PathKind kind = PathKind::unexplained;
  std::string name;   // "" between operators
  int64_t count = 0;  // rows on the path
  int64_t time_ns = 0;
  double share = 0;  // of the length of all steps
};

struct CriticalPath {
  std::vector<PathKindRow> kinds;  // by step, then most time first
  std::vector<PathNameRow> names;  // most time first
};

}  // namespace skewscope
