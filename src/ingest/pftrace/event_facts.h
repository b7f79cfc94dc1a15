// What the arguments of an event say: debug annotations of a slice, extra data of a stage of the GPU. The names are
// those of Kineto, which PyTorch keeps in its .pftrace, and of rocprofv3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/string_table.h"

namespace skewscope::ingest {

enum class FactKey : uint8_t {
  none,
  correlation,
  external_id,
  device,
  agent,
  destination_agent,
  source_agent,
  stream,
  queue,
  bytes,
  callback,
  sync_kind,
  wait_on_stream,
  recorded_by,
  python,
  sequence,
  collective,  // from here on of a collective, or of an operator
  dtype,
  group_name,
  group_description,
  group_ranks,
  in_elements,
  out_elements,
  group_size,
  rank,
  rank_start,
  rank_stride,
  destination,
  source,
  seq,
  comms_id,
  in_split,
  out_split,
  input_dims,
  input_types,
  input_strides,
  input_values,
};
FactKey fact_key(std::string_view name);

// By category, or by what else tells.
enum class SliceClass : uint8_t {
  open,  // nothing tells yet
  kernel,
  copy,
  fill,
  gpu_annotation,
  call,  // of the runtime
  rccl,
  annotation,
  op,
  python,
  sync,  // a wait as the GPU's tracer records it
  nothing
};
SliceClass slice_class_of_category(std::string_view category);

// Arguments of a collective; texts are ids of the file's names.
struct CallFacts {
  StringId collective, dtype, group_name, group_description, group_ranks, in_split, out_split;
  int64_t in_elements = -1, out_elements = -1, group_size = -1, rank = -1, rank_start = -1, rank_stride = -1, peer = -1,
          seq = -1;
  int64_t comms_id = 0;  // bits of the unsigned number; 0: none
};

// Texts of "Input Dims" and its like, as JSON.
struct OperatorFacts {
  StringId dims, types, strides, values;
};

struct EventFacts {
  StringId name;
  SliceClass slice_class = SliceClass::open;
  bool is_operator = false;  // has operands, or a place in the order of the forward pass
  bool of_rocm = false;      // as rocprofv3 writes them
  int32_t device = -1, source_device = -1, stream = -1;
  int32_t call = -1;      // row of CallFacts
  int32_t operands = -1;  // row of OperatorFacts
  int32_t sequence = -1;
  uint16_t grid = 0;
  int32_t waits_on_stream = -1;
  int64_t correlation = -1, external_id = -1, bytes = -1, recorded_by = -1;
};

// Rows that facts refer to, and all texts.
struct FactTables {
  StringTable texts;
  std::vector<CallFacts> calls;
  std::vector<OperatorFacts> operands;
  bool details = false;  // wanted

  int64_t bytes = 0;  // that texts take
  StringId intern(std::string_view text);
};

// The value of an annotation or of extra data: a number, a text, or a list as JSON.
struct FactValue {
  bool is_text = false, is_number = false;
  int64_t number = -1;
  std::string_view text;

  // Also of a text of digits; the bits of a number that is unsigned.
  int64_t integer() const;
};

// Gathers the facts of one event.
class FactGatherer {
 public:
  explicit FactGatherer(FactTables& tables) : tables_(tables) {}

  void begin();
  void add(FactKey key, const FactValue& value);
  // Whether the value of this key is asked for as text even where it is a list.
  static bool wants_list(FactKey key);
  EventFacts& facts() { return facts_; }
  // With the rows of the tables that it takes.
  const EventFacts& take();

 private:
  void add_plain(FactKey key, const FactValue& value);

  FactTables& tables_;
  EventFacts facts_;
  CallFacts call_;
  OperatorFacts operands_;
  bool has_call_ = false, has_operands_ = false;
};

}  // namespace skewscope::ingest
