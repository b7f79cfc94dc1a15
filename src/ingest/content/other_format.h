// What a file is that holds nothing for a report: traces of other profilers, archives, documents that lie next to
// traces, what a server sent in place of the file. Named, with the next step, so that nobody takes it for a job without
// work.
#pragma once

#include <string_view>

namespace skewscope::ingest {

struct OtherFormat {
  const char* name;       // "a profile of JAX or TensorFlow (XLA)"
  const char* next_step;  // "record the steps with torch.profiler"
};

// By its first bytes, uncompressed: kOtherFormatBytes show every sign. nullptr: not known. Only for files without GPU
// rows: what is looked for may be in a trace of PyTorch, too, as the name of an operator.
const OtherFormat* other_format(std::string_view head);
constexpr size_t kOtherFormatBytes = 1 << 20;  // torch_npu writes what tells it behind the host's rows

// By its name alone, for files that are not opened: "report1.nsys-rep". nullptr: not known.
const OtherFormat* other_format_of_name(std::string_view file_name);

}  // namespace skewscope::ingest
