// Rows of one device's plane: kernels of a GPU, instructions of a TPU.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>

#include "row_walk.h"
#include "xplane_rows.h"

namespace skewscope::ingest {

// "/device:GPU:3"; nullopt: the plane is no device's.
struct DeviceName {
  bool tpu = false;
  int32_t ordinal = 0;
};
std::optional<DeviceName> device_of_plane(std::string_view name);

class DeviceCollector {
 public:
  // `plane` and `space` outlive what is collected: rows refer to their names.
  DeviceCollector(const Plane& plane, const Space& space, const XTime& time);
  ~DeviceCollector();

  bool begin_line(const XLine& line);
  void add(const XEvent& event);
  // Nothing is added from then on.
  DevicePlane take();
  size_t rows() const;
  // For who asks which device it is alone: forgets all rows but one, which says that it has any.
  void keep_one_row();

 private:
  enum class LineKind : uint8_t { other, stream, modules, ops, async_ops };
  // What is the same for all events of a kind.
  struct Kind {
    const std::string* name = nullptr;
    std::string_view opcode;
    int32_t op = -1;
  };
  // How kernels ran that are written alike.
  struct KernelLook {
    int32_t shape = -1;
    uint16_t grid = 0;
  };
  struct Stats;

  void read_plane_stats();
  Kind& kind_of(int64_t id);
  Kind tpu_kind(const Plane::EventKind& kind);
  void read_stats(const XEvent& event, Stats& stats) const;
  void add_gpu_row(const XEvent& event);
  void add_tpu_row(const XEvent& event);
  void add_run(const XEvent& event);
  int32_t gpu_op(const Stats& stats);
  void finish_tpu();

  const Plane& plane_;
  const Space& space_;
  const XTime& time_;
  StatRoles roles_;
  DevicePlane device_;
  XLine line_;
  LineKind line_kind_ = LineKind::other;
  int32_t stream_ = 0;
  std::unordered_map<int64_t, Kind> kinds_;
  std::unordered_map<std::string, int32_t> gpu_ops_;
  std::unordered_map<std::string, KernelLook> looks_;
  std::string key_;
  struct TpuRows;
  std::unique_ptr<TpuRows> tpu_;
};

}  // namespace skewscope::ingest
