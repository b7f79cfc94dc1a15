// Lays out the equations of a fit.
#include <map>
#include <unordered_map>

#include "fit_rounds.h"

namespace skewscope::align {
namespace {

// Numbers (owner, trace) pairs as they come.
struct CellNumbers {
  size_t traces;
  std::unordered_map<size_t, int32_t> known;
  std::vector<int32_t>& owners;

  int32_t of(int32_t owner, int32_t trace) {
    const size_t key = static_cast<size_t>(owner) * traces + static_cast<size_t>(trace);
    const auto [at, fresh] = known.emplace(key, static_cast<int32_t>(owners.size()));
    if (fresh) owners.push_back(owner);
    return at->second;
  }
};

void take_rows(Rounds& r, const std::vector<bool>& use) {
  NormalEquations& s = r.s();
  const Beacons& b = r.beacons;
  s.traces = b.traces.size();
  size_t rows = 0, observations = 0;
  for (size_t c = 0; c < b.rows(); ++c) {
    rows += use[c] ? 1 : 0;
    observations += use[c] ? b.end(c) - b.begin(c) : 0;
  }
  r.result.row.reserve(rows);
  r.scale_class.reserve(rows);
  s.row_begin.reserve(rows + 1);
  s.trace.reserve(observations);
  for (size_t c = 0; c < b.rows(); ++c) {
    if (!use[c]) continue;
    r.result.row.push_back(static_cast<int32_t>(c));
    r.scale_class.push_back(b.scale_class[c]);
    for (size_t k = b.begin(c); k < b.end(c); ++k) s.trace.push_back(b.trace[k]);
    s.row_begin.push_back(static_cast<int32_t>(s.trace.size()));
  }
  s.basis.assign(s.rows() * s.terms, 0);
  s.weight.assign(s.trace.size(), 0);
  r.result.residual_ns.assign(s.trace.size(), 0);
}

void number_cells(Rounds& r) {
  NormalEquations& s = r.s();
  CellNumbers classes{s.traces, {}, r.class_of_cell};
  r.class_cell.reserve(s.trace.size());
  for (size_t i = 0; i < s.rows(); ++i) {
    for (size_t k = s.begin(i); k < s.end(i); ++k) r.class_cell.push_back(classes.of(r.scale_class[i], s.trace[k]));
  }
}

// Lays out the unknowns: per trace its terms, then one bias per group it takes part in.
void number_unknowns(Rounds& r) {
  NormalEquations& s = r.s();
  std::vector<std::map<int32_t, int32_t>> groups(s.traces);
  const auto group_of = [&](size_t row) { return r.beacons.classes[static_cast<size_t>(r.scale_class[row])].group; };
  for (size_t i = 0; i < s.rows(); ++i) {
    for (size_t k = s.begin(i); k < s.end(i); ++k) groups[static_cast<size_t>(s.trace[k])].emplace(group_of(i), 0);
  }
  s.unknown_begin.push_back(0);
  for (auto& of_trace : groups) {
    auto next = s.unknown_begin.back() + static_cast<int32_t>(s.terms);
    r.result.group_of_bias.insert(r.result.group_of_bias.end(), s.terms, -1);
    for (auto& [group, unknown] : of_trace) {
      unknown = next++;
      r.result.group_of_bias.push_back(group);
    }
    s.unknown_begin.push_back(next);
  }
  s.ridge.assign(static_cast<size_t>(s.unknown_begin.back()), 0);
  r.information.assign(s.ridge.size(), 0);
  r.result.bias_ns.assign(s.ridge.size(), 0);
  s.bias.reserve(s.trace.size());
  for (size_t i = 0; i < s.rows(); ++i) {
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      s.bias.push_back(groups[static_cast<size_t>(s.trace[k])].at(group_of(i)));
    }
  }
}

// Lists the observations of each trace, in order of rows.
void order_by_trace(NormalEquations& s) {
  s.trace_begin.assign(s.traces + 1, 0);
  for (const int32_t t : s.trace) ++s.trace_begin[static_cast<size_t>(t) + 1];
  for (size_t t = 0; t < s.traces; ++t) s.trace_begin[t + 1] += s.trace_begin[t];
  std::vector<int32_t> next(s.trace_begin.begin(), s.trace_begin.end() - 1);
  s.by_trace.resize(s.trace.size());
  s.place.resize(s.trace.size());
  for (size_t i = 0; i < s.rows(); ++i) {
    for (size_t k = s.begin(i); k < s.end(i); ++k) {
      s.place[k] = next[static_cast<size_t>(s.trace[k])]++;
      s.by_trace[static_cast<size_t>(s.place[k])] = {static_cast<int32_t>(i), s.bias[k]};
    }
  }
}

}  // namespace

void lay_out(Rounds& r, const std::vector<bool>& use) {
  take_rows(r, use);
  number_cells(r);
  number_unknowns(r);
  order_by_trace(r.s());
}

}  // namespace skewscope::align
