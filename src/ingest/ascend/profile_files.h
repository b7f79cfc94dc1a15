// Which files of an Ascend profile are a rank's trace, and which only belong to one.
#pragma once

#include <cstdint>
#include <string>

namespace skewscope::ingest {

enum class ProfileFile : uint8_t {
  none,     // nothing of Ascend's, by its name and its place
  main,     // what is read as the rank's trace
  side,     // read with the main file of its folder, or told by it already
  results,  // of an analysis of ranks, which is made of their traces
};

// Where the file is that this path leads to by links or as a descriptor (/proc/self/fd/N): there lie its neighbours. As
// given where nothing is known of it.
std::string place_of(const std::string& file);

// By name and neighbours: of a rank's folder, ascend_pytorch_profiler_<rank>.db is the main file where there is one,
// else trace_view.json, else communication.json.
ProfileFile profile_file(const std::string& file);

// The main file next to this side file; "": there is none.
std::string main_file_of(const std::string& side_file);

}  // namespace skewscope::ingest
