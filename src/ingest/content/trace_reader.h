// A reader turns files of one format into FileContent, several at a time. A format is one class of these, in a room of
// its own, and a line of trace_readers.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/kernel_table.h"
#include "file_content.h"
#include "memory_budget.h"
#include "skewscope/base/result.h"
#include "skewscope/ingest/read_progress.h"

namespace skewscope::ingest {

// How sure a reader is that a text is of its format.
enum class Recognition : uint8_t { no, perhaps, yes };

// What readers of all formats are asked for. What it points to must live on.
struct ReaderSettings {
  bool details = false;  // with FileContent::details
  const KernelTable* kernels = &KernelTable::built_in();
  std::string step_range;            // IngestOptions::step_range
  ReadProgress* progress = nullptr;  // moved on as a file is read; null: nobody looks
};

class TraceReader {
 public:
  virtual ~TraceReader() = default;

  // How names of its files end, before what says their compression: ".json".
  virtual std::vector<const char*> suffixes() const = 0;
  // Whether a name that ends so may be one of its files': other files of that suffix lie next to traces, too.
  virtual bool takes_name(std::string_view /*name*/) const { return true; }
  // By the first bytes of the uncompressed text (up to 4096), and by what more of the file it likes to read. The surest
  // of all readers reads the file.
  virtual Recognition recognise(const std::string& file, std::string_view head) const = 0;
  // One content for each rank that the file holds, at least one; FileContent::format says what it is. Never fails on
  // bad content: that becomes findings and a ContentKind. Errors: resource_limit only. Thread-safe.
  virtual Result<std::vector<FileContent>> read(const std::string& file, MemoryBudget& budget) const = 0;

  // For who passes files on without reading them (skewscope/ingest/whole_trace.h): what says which rank it is, for each
  // rank that the file holds, at little cost. Errors: unreadable.
  virtual Result<std::vector<FileContent>> read_heads(const std::string& file) const = 0;
  // Why the file, which is not compressed and ends in these bytes, is not whole: "" where it is. nullopt: these bytes
  // do not tell; it is JSON, whole where its first bracket is closed.
  virtual std::optional<std::string> problem(const std::string& file, std::string_view tail) const = 0;
};

}  // namespace skewscope::ingest
