#include "shared_fits.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace skewscope::align {
namespace {

void put(ByteWriter& writer, const Fit& fit) {
  writer.put(fit.freedom);
  writer.put(fit.center_ns);
  writer.put(fit.half_window_ns);
  writer.put(fit.base_ns);
  writer.put(fit.terms_ns);
  writer.put(fit.component);
  writer.put(fit.sigma_ns);
  writer.put(fit.tau_ns);
  writer.put(fit.group_tau_ns);
}

void get(ByteReader& reader, Fit& fit) {
  reader.get(fit.freedom);
  reader.get(fit.center_ns);
  reader.get(fit.half_window_ns);
  reader.get(fit.base_ns);
  reader.get(fit.terms_ns);
  reader.get(fit.component);
  reader.get(fit.sigma_ns);
  reader.get(fit.tau_ns);
  reader.get(fit.group_tau_ns);
}

}  // namespace

std::vector<Fit> shared_fits(size_t count, const std::function<Fit(size_t)>& make, Exchange& exchange) {
  const auto maker_of = [&](size_t k) { return static_cast<int32_t>(k) % exchange.processes(); };
  std::vector<Fit> fits(count);
  // Isolated: a thread that waits within one fit must not begin another and hold the equations of both.
  tbb::parallel_for(size_t{0}, count, [&](size_t k) {
    if (maker_of(k) == exchange.process()) tbb::this_task_arena::isolate([&] { fits[k] = make(k); });
  });
  tell_all(
      exchange, count, maker_of, [&](ByteWriter& writer, size_t k) { put(writer, fits[k]); },
      [&](ByteReader& reader, size_t k) { get(reader, fits[k]); });
  return fits;
}

}  // namespace skewscope::align
