// The roofline of a device: how fast one operator call could be (Williams, Waterman, Patterson 2009).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skewscope/base/result.h"
#include "skewscope/efficiency/work.h"

namespace skewscope::efficiency {

struct Peak {
  ComputeKind compute;
  Precision precision;
  double flops_per_s;  // operations per second for integers
};

// What a data sheet promises. Peaks are dense, never the figures with structured sparsity.
struct Device {
  std::string name;                  // "NVIDIA H100 SXM5 80GB"
  std::vector<std::string> matches;  // parts of the names that traces record: "H100 80GB HBM3"
  std::string source;                // title and number of the data sheet
  int32_t sms = 0;                   // compute units on AMD
  double bytes_per_s = 0;            // memory bandwidth
  std::vector<Peak> peaks;
  std::string link;             // to the other GPUs of its node: "NVLink 4"; "" where the data sheet leaves that open
  double link_bytes_per_s = 0;  // of all its ports together, one direction
};

// Operations per second, 0 where the data sheet names none. Where a device has no figure of its own for it: matrix fp32
// takes that of TF32 (the ceiling: a trace does not record whether TF32 was allowed), then matrix work takes that of
// the vector units; vector fp16, bf16 and fp8 take that of fp32, in which PyTorch's kernels calculate them.
double peak_of(const Device& device, ComputeKind compute, Precision precision);

using DeviceTable = std::vector<Device>;

// configs/devices.json, built into the library.
const DeviceTable& built_in_devices();

// The built-in table with the entries of a user's file of the same form: an entry with a known name replaces it, others
// are added before the built-in ones. Error: cannot be read, is no JSON, or which entry lacks what.
Result<DeviceTable> load_devices(const std::string& path);
Result<DeviceTable> parse_devices(std::string_view json, const std::string& origin);

// The device whose longest `matches` text is in the name that a trace records ("NVIDIA H100 80GB HBM3"), letters of
// either case; null when none does.
const Device* find_device(const DeviceTable& devices, std::string_view recorded_name);

enum class Bound : uint8_t { compute, memory };
const char* to_string(Bound bound);

struct Roofline {
  Bound bound = Bound::memory;
  double time_ns = 0;    // max(flops / peak, bytes / bandwidth): no kernel can be faster
  double intensity = 0;  // FLOPs per byte
};

// nullopt when flops or bytes are not known, or for matrix work the device's peak. Vector work of a precision without a
// peak (integers) is priced by its bytes alone, which is still a bound.
std::optional<Roofline> roofline_of(const Work& work, const Device& device);

// Share of the roofline that a call of this duration reached: roofline time / duration. duration_ns > 0.
double roofline_share(const Roofline& roofline, int64_t duration_ns);

}  // namespace skewscope::efficiency
