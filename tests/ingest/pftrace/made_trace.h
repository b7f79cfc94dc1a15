// Traces of Perfetto, written field by field as its public schema numbers them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../../temporary_folder.h"
#include "src/ingest/trace_readers.h"

namespace skewscope::test {

struct NumberOfText {
  uint64_t number = 0;  // of an interned text
};
using AnnotationValue = std::variant<int64_t, std::string, std::vector<int64_t>, NumberOfText>;
using AnnotationName = std::variant<std::string, uint64_t>;  // or its number
using Annotations = std::vector<std::pair<AnnotationName, AnnotationValue>>;

struct MadeSlice {
  uint64_t track = 0;
  uint64_t at = 0;  // in units of its clock
  std::string name;
  uint64_t name_id = 0;
  Annotations annotations;
  const char* category = "";
  uint64_t category_id = 0;
};

struct MadeStage {
  uint64_t at_ns = 0, duration_ns = 0;
  uint64_t kind = 1, queue = 0, name_id = 0, context = 1;
  int32_t gpu = 0;
  std::vector<std::pair<std::string, std::string>> extra;
  std::vector<uint32_t> grid;
};

class MadeTrace {
 public:
  // Of the packets that follow; 0: none is written.
  uint32_t sequence = 1, flags = 0, clock = 0;

  MadeTrace& process(uint64_t uuid, int32_t pid, const std::string& name) {
    return track(uuid, 0, [&](protozero::pbf_writer& writer) {
      protozero::pbf_writer of(writer, 3);
      of.add_int32(1, pid);
      of.add_string(6, name);
    });
  }
  MadeTrace& thread(uint64_t uuid, uint64_t parent, int32_t pid, int32_t tid, const std::string& name) {
    return track(uuid, parent, [&](protozero::pbf_writer& writer) {
      protozero::pbf_writer of(writer, 4);
      of.add_int32(1, pid);
      of.add_int32(2, tid);
      of.add_string(5, name);
    });
  }
  // A table of InternedData by its field: 1 categories, 2 names, 3 names of annotations, 24 specifications, 29 texts;
  // numbered from `first`. State begins anew where asked for.
  MadeTrace& intern(const std::vector<std::pair<uint32_t, std::vector<std::string>>>& tables, bool anew = true,
                    uint64_t first = 1) {
    return packet([&](protozero::pbf_writer& writer) {
      if (anew) writer.add_uint32(13, 1);
      protozero::pbf_writer data(writer, 12);
      for (const auto& [field, texts] : tables) {
        for (size_t i = 0; i < texts.size(); ++i) {
          protozero::pbf_writer entry(data, field);
          entry.add_uint64(1, first + i);
          entry.add_string(2, texts[i]);
        }
      }
    });
  }
  MadeTrace& context(uint64_t id, int32_t pid) {
    return packet([&](protozero::pbf_writer& writer) {
      protozero::pbf_writer data(writer, 12);
      protozero::pbf_writer entry(data, 23);
      entry.add_uint64(1, id);
      entry.add_int32(2, pid);
    });
  }
  struct Clock {
    uint32_t id = 0;
    uint64_t at = 0;
    bool incremental = false;
    uint64_t unit_ns = 0;
  };
  MadeTrace& snapshot(const std::vector<Clock>& clocks) {
    return packet([&](protozero::pbf_writer& writer) {
      protozero::pbf_writer of(writer, 6);
      for (const Clock& reading : clocks) {
        protozero::pbf_writer entry(of, 1);
        entry.add_uint32(1, reading.id);
        entry.add_uint64(2, reading.at);
        if (reading.incremental) entry.add_bool(3, true);
        if (reading.unit_ns > 0) entry.add_uint64(4, reading.unit_ns);
      }
    });
  }
  MadeTrace& defaults(uint32_t default_clock, uint64_t track_uuid) {
    return packet([&](protozero::pbf_writer& writer) {
      protozero::pbf_writer of(writer, 59);
      of.add_uint32(58, default_clock);
      protozero::pbf_writer event(of, 11);
      event.add_uint64(11, track_uuid);
    });
  }
  MadeTrace& begin(const MadeSlice& slice) {
    return packet([&](protozero::pbf_writer& writer) {
      writer.add_uint64(8, slice.at);
      protozero::pbf_writer event(writer, 11);
      event.add_enum(9, 1);
      if (slice.track != 0) event.add_uint64(11, slice.track);
      if (slice.name_id != 0) event.add_uint64(10, slice.name_id);
      if (!slice.name.empty()) event.add_string(23, slice.name);
      if (*slice.category != 0) event.add_string(22, slice.category);
      if (slice.category_id != 0) event.add_uint64(3, slice.category_id);
      for (const auto& [key, value] : slice.annotations) annotate(event, key, value);
    });
  }
  MadeTrace& end(uint64_t track_uuid, uint64_t at) {
    return packet([&](protozero::pbf_writer& writer) {
      writer.add_uint64(8, at);
      protozero::pbf_writer event(writer, 11);
      event.add_enum(9, 2);
      if (track_uuid != 0) event.add_uint64(11, track_uuid);
    });
  }
  // One slice, its end next to its beginning.
  MadeTrace& slice(const MadeSlice& slice, uint64_t end_at) { return begin(slice).end(slice.track, end_at); }
  MadeTrace& stage(const MadeStage& stage) {
    return packet([&](protozero::pbf_writer& writer) {
      writer.add_uint64(8, stage.at_ns);
      protozero::pbf_writer event(writer, 53);
      event.add_uint64(2, stage.duration_ns);
      event.add_uint64(5, stage.context);
      event.add_int32(11, stage.gpu);
      event.add_uint64(13, stage.queue);
      event.add_uint64(14, stage.kind);
      if (stage.name_id != 0) event.add_uint64(20, stage.name_id);
      for (const auto& [name, value] : stage.extra) {
        protozero::pbf_writer extra(event, 6);
        extra.add_string(1, name);
        extra.add_string(2, value);
      }
      if (stage.grid.empty()) return;
      protozero::pbf_writer launch(event, 21);
      protozero::pbf_writer grid(launch, 1);
      for (size_t i = 0; i < stage.grid.size(); ++i) grid.add_uint32(static_cast<uint32_t>(i) + 1, stage.grid[i]);
    });
  }
  template <class Write>
  MadeTrace& packet(const Write& write) {
    std::string bytes;
    {
      protozero::pbf_writer writer(bytes);
      if (sequence != 0) writer.add_uint32(10, sequence);
      if (flags != 0) writer.add_uint32(13, flags);
      if (clock != 0) writer.add_uint32(58, clock);
      write(writer);
    }
    return raw_packet(bytes);
  }
  MadeTrace& raw_packet(const std::string& bytes) {
    protozero::pbf_writer(text_).add_message(1, bytes);
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  template <class Describe>
  MadeTrace& track(uint64_t uuid, uint64_t parent, const Describe& describe) {
    return packet([&](protozero::pbf_writer& writer) {
      protozero::pbf_writer of(writer, 60);
      of.add_uint64(1, uuid);
      if (parent != 0) of.add_uint64(5, parent);
      describe(of);
    });
  }
  static void annotate(protozero::pbf_writer& event, const AnnotationName& name, const AnnotationValue& value) {
    protozero::pbf_writer annotation(event, 4);
    if (const auto* text = std::get_if<std::string>(&name)) {
      annotation.add_string(10, *text);
    } else {
      annotation.add_uint64(1, std::get<uint64_t>(name));
    }
    if (const auto* number = std::get_if<int64_t>(&value)) {
      annotation.add_int64(4, *number);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      annotation.add_string(6, *text);
    } else if (const auto* of_text = std::get_if<NumberOfText>(&value)) {
      annotation.add_uint64(17, of_text->number);
    } else {
      for (const int64_t item : std::get<std::vector<int64_t>>(value)) {
        protozero::pbf_writer entry(annotation, 12);
        entry.add_int64(4, item);
      }
    }
  }

  std::string text_;
};

inline Result<std::vector<ingest::FileContent>> try_reading_pftrace(const std::string& text, int64_t limit = 0,
                                                                    bool details = false) {
  const Folder folder("pftrace");
  std::filesystem::create_directories(folder.path);
  const std::filesystem::path file = folder.path / "rank3.pftrace";
  std::ofstream(file, std::ios::binary) << text;
  ingest::MemoryBudget budget(limit);
  ingest::ReaderSettings settings;
  settings.details = details;
  return ingest::TraceReaders(settings).read(file.string(), budget);
}

inline std::vector<ingest::FileContent> read_pftrace(const std::string& text, bool details = false) {
  auto contents = try_reading_pftrace(text, 0, details);
  REQUIRE(contents.ok());
  return std::move(contents).value();
}

}  // namespace skewscope::test
