#include "skewscope/efficiency/roofline.h"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "embedded.h"
#include "lower_case.h"
#include "skewscope/base/file_text.h"

namespace skewscope::efficiency {
namespace {

using nlohmann::json;

constexpr double kTera = 1e12, kGiga = 1e9;

std::optional<Precision> precision_of_name(std::string_view name) {
  for (int at = 1; at <= static_cast<int>(Precision::integer); ++at) {
    if (name == to_string(static_cast<Precision>(at))) return static_cast<Precision>(at);
  }
  return std::nullopt;
}

// A number above zero; 0 where it is none.
double positive(const json& value) {
  const double number = value.is_number() ? value.get<double>() : 0;
  return std::isfinite(number) && number > 0 ? number : 0;
}

// What is wrong with the peaks; "" when they were added.
std::string add_peaks(const json& entry, const char* key, ComputeKind compute, Device& device) {
  if (!entry.contains(key)) return "";
  if (!entry[key].is_object()) return fmt::format("\"{}\" is no object", key);
  for (const auto& [name, value] : entry[key].items()) {
    const auto precision = precision_of_name(name);
    if (!precision) return fmt::format("\"{}\" has the unknown precision \"{}\"", key, name);
    if (positive(value) == 0) return fmt::format("\"{}\": \"{}\" is no number above 0", key, name);
    device.peaks.push_back({.compute = compute, .precision = *precision, .flops_per_s = positive(value) * kTera});
  }
  return "";
}

std::string read_device(const json& entry, Device& device) {
  if (!entry.is_object()) return "is no object";
  const auto text = [&](const char* key) { return entry.contains(key) && entry[key].is_string() && entry[key] != ""; };
  if (!text("name")) return "has no \"name\"";
  if (!entry.contains("matches") || !entry["matches"].is_array() || entry["matches"].empty())
    return "has no \"matches\"";
  for (const json& match : entry["matches"]) {
    if (!match.is_string() || match == "") return "\"matches\" holds what is no text";
    device.matches.push_back(match.get<std::string>());
  }
  device.name = entry["name"].get<std::string>();
  if (text("source")) device.source = entry["source"].get<std::string>();
  if (entry.contains("sms")) {
    const double sms = positive(entry["sms"]);
    if (sms < 1 || sms > 1e6) return "\"sms\" is no number from 1 to 1000000";
    device.sms = static_cast<int32_t>(sms);
  }
  if (!entry.contains("memory_TB_per_s") || positive(entry["memory_TB_per_s"]) == 0)
    return "has no \"memory_TB_per_s\" above 0";
  device.bytes_per_s = positive(entry["memory_TB_per_s"]) * kTera;
  if (entry.contains("link")) {
    const json& link = entry["link"];
    const bool named = link.is_object() && link.contains("name") && link["name"].is_string() && link["name"] != "";
    if (!named || !link.contains("GB_per_s") || positive(link["GB_per_s"]) == 0)
      return "\"link\" has no \"name\" or no \"GB_per_s\" above 0";
    device.link = link["name"].get<std::string>();
    device.link_bytes_per_s = positive(link["GB_per_s"]) * kGiga;
  }
  const std::string wrong = add_peaks(entry, "matrix_TFLOPS", ComputeKind::matrix, device);
  return wrong.empty() ? add_peaks(entry, "vector_TFLOPS", ComputeKind::vector, device) : wrong;
}

Result<DeviceTable> read_devices(std::string_view text, const std::string& origin) {
  const auto wrong = [&](const std::string& what) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("{}: {}; configs/README.md shows the form", origin, what)};
  };
  const json document = json::parse(text.begin(), text.end(), nullptr, false);
  if (document.is_discarded()) return wrong("no JSON");
  if (!document.is_object() || !document.contains("devices") || !document["devices"].is_array()) {
    return wrong("has no list \"devices\"");
  }
  DeviceTable devices;
  for (const json& entry : document["devices"]) {
    Device device;
    const std::string what = read_device(entry, device);
    if (!what.empty()) return wrong(fmt::format("device {} ({}) {}", devices.size() + 1, device.name, what));
    devices.push_back(std::move(device));
  }
  return devices;
}

double listed_peak(const Device& device, ComputeKind compute, Precision precision) {
  for (const Peak& peak : device.peaks) {
    if (peak.compute == compute && peak.precision == precision) return peak.flops_per_s;
  }
  return 0;
}

}  // namespace

const DeviceTable& built_in_devices() {
  static const DeviceTable devices = read_devices(embedded::devices(), "configs/devices.json").value();
  return devices;
}

Result<DeviceTable> parse_devices(std::string_view json, const std::string& origin) {
  auto given = read_devices(json, origin);
  if (!given.ok()) return given;
  DeviceTable devices = std::move(given).value();
  const size_t own = devices.size();
  for (const Device& device : built_in_devices()) {
    const auto end = devices.begin() + static_cast<std::ptrdiff_t>(own);
    if (std::none_of(devices.begin(), end, [&](const Device& other) { return other.name == device.name; })) {
      devices.push_back(device);
    }
  }
  return devices;
}

Result<DeviceTable> load_devices(const std::string& path) {
  const std::optional<std::string> text = file_text(path);
  if (!text) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("{}: cannot be read: {}", path, std::strerror(errno))};
  }
  return parse_devices(*text, path);
}

const Device* find_device(const DeviceTable& devices, std::string_view recorded_name) {
  const std::string name = lower_case(recorded_name);
  const Device* best = nullptr;
  size_t longest = 0;
  for (const Device& device : devices) {
    for (const std::string& match : device.matches) {
      if (match.size() > longest && name.find(lower_case(match)) != std::string::npos) {
        best = &device;
        longest = match.size();
      }
    }
  }
  return best;
}

double peak_of(const Device& device, ComputeKind compute, Precision precision) {
  double peak = listed_peak(device, compute, precision);
  if (peak > 0) return peak;
  if (compute == ComputeKind::matrix) {
    if (precision == Precision::fp32) peak = listed_peak(device, compute, Precision::tf32);
    return peak > 0 ? peak : listed_peak(device, ComputeKind::vector, precision);
  }
  const bool narrow = precision == Precision::fp16 || precision == Precision::bf16 || precision == Precision::fp8;
  return narrow ? listed_peak(device, compute, Precision::fp32) : 0;
}

const char* to_string(Bound bound) { return bound == Bound::compute ? "compute" : "memory"; }

std::optional<Roofline> roofline_of(const Work& work, const Device& device) {
  if (!work.flops || !work.bytes || device.bytes_per_s <= 0) return std::nullopt;
  const double peak = peak_of(device, work.compute, work.precision);
  if (peak == 0 && work.compute == ComputeKind::matrix) return std::nullopt;
  const auto flops = static_cast<double>(*work.flops);
  const auto bytes = static_cast<double>(*work.bytes);
  const double compute_s = peak > 0 ? flops / peak : 0;
  const double memory_s = bytes / device.bytes_per_s;
  return Roofline{.bound = compute_s > memory_s ? Bound::compute : Bound::memory,
                  .time_ns = std::max(compute_s, memory_s) * 1e9,
                  .intensity = bytes > 0 ? flops / bytes : 0};
}

double roofline_share(const Roofline& roofline, int64_t duration_ns) {
  return roofline.time_ns / static_cast<double>(duration_ns);
}

}  // namespace skewscope::efficiency
