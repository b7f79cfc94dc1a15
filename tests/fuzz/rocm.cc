// What ROCm's profilers leave: rows of rocpd or RPD, one a line, or the JSON of rocprofv3 where it begins with "{".
// Reported, and the first rank as `rank` does.
#include <array>
#include <fstream>
#include <string>

#include "memory_folder.h"
#include "read_in_full.h"
#include "table_lines.h"

using namespace skewscope;  // NOLINT

namespace {

// Of a run of rocpd; those of RPD where the text begins with "r".
constexpr std::array kRunTables = {
    test::FuzzTable{'S', "rocpd_string_1", "id INTEGER PRIMARY KEY, string", 2},
    test::FuzzTable{'N', "rocpd_info_node_1", "id INTEGER PRIMARY KEY, hostname", 2},
    test::FuzzTable{'P', "rocpd_info_process_1", "id INTEGER PRIMARY KEY, nid, pid, environment", 4},
    test::FuzzTable{'A', "rocpd_info_agent_1", "id INTEGER PRIMARY KEY, pid, type, type_index, name, product_name", 6},
    test::FuzzTable{'Y', "rocpd_info_kernel_symbol_1", "id INTEGER PRIMARY KEY, kernel_name, display_name", 3},
    test::FuzzTable{'E', "rocpd_event_1", "id INTEGER PRIMARY KEY, stack_id", 2},
    test::FuzzTable{'K', "rocpd_kernel_dispatch_1",
                    "start, end, pid, agent_id, kernel_id, stream_id, event_id, workgroup_size_x, workgroup_size_y, "
                    "workgroup_size_z, grid_size_x, grid_size_y, grid_size_z",
                    13},
    test::FuzzTable{'C', "rocpd_memory_copy_1",
                    "start, end, pid, dst_agent_id, src_agent_id, stream_id, event_id, name_id, size", 9},
    test::FuzzTable{'R', "rocpd_region_1", "start, end, pid, tid, event_id, name_id", 6},
};
constexpr std::array kRpdTables = {
    test::FuzzTable{'S', "rocpd_string", "id INTEGER PRIMARY KEY, string", 2},
    test::FuzzTable{'K', "rocpd_op", "id INTEGER PRIMARY KEY, gpuId, queueId, start, end, description_id, opType_id",
                    7},
    test::FuzzTable{'R', "rocpd_api", "id INTEGER PRIMARY KEY, pid, tid, start, end, apiName_id, args_id", 7},
    test::FuzzTable{'L', "rocpd_api_ops", "api_id, op_id", 2},
};

void write_profile(const std::string& folder, std::string_view text) {
  if (text.starts_with('{')) {
    std::ofstream(folder + "/1_results.json", std::ios::binary) << text;
  } else if (text.starts_with('r')) {
    test::write_tables(folder + "/trace.rpd", kRpdTables, text.substr(1));
  } else {
    test::write_tables(folder + "/1_results.db", kRunTables, text);
  }
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFolder folder;
  write_profile(folder.path(), {reinterpret_cast<const char*>(data), size});
  test::read_in_full(folder.path());
  return 0;
}
