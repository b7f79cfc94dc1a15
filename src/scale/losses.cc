// Problem: efficiencies multiply (global = load balance x serialization x transfer x computation scaling), but people
// ask how many points of the loss each is to blame for.
// Idea: with the logarithmic mean L(a, b) = (a - b) / ln(a / b), a change of a product is a sum over its factors:
//   b - a = sum over factors of L(a, b) ln(f_b / f_a),
// exactly, in any order, with no remainder; a product of some factors gets the sum of their points, so both trees agree
// (communication = serialization x transfer = GPU communication x orchestration). LMDI-I; source: Ang, "Decomposition
// analysis for policymaking in energy: which is the preferred method?", Energy Policy 32 (2004).
#include "losses.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace skewscope::scale {
namespace {

struct Factor {
  ScaleFactor name;
  double before, after;
};

bool determined(const std::vector<Factor>& factors) {
  return std::all_of(factors.begin(), factors.end(), [](const Factor& f) { return f.before > 0 && f.after > 0; });
}

double logarithmic_mean(double a, double b) {
  const double ratio = std::log(b / a);
  return std::fabs(ratio) < 1e-12 ? (a + b) / 2 : (b - a) / ratio;
}

}  // namespace

std::vector<ScaleReport::Loss> losses_between(const std::vector<ScaleReport::Run>& runs, size_t from, size_t to) {
  using Run = ScaleReport::Run;
  const Run &a = runs[from], &b = runs[to];
  const auto ratio = [&](ScaleFactor name, double JobReport::Efficiency::*value) {
    return Factor{name, a.efficiency.*value, b.efficiency.*value};
  };
  using E = JobReport::Efficiency;
  std::vector<Factor> pop = {{ScaleFactor::computation_scaling, a.computation_scaling, b.computation_scaling},
                             ratio(ScaleFactor::load_balance, &E::load_balance)};
  const std::vector<Factor> network = {ratio(ScaleFactor::serialization, &E::serialization),
                                       ratio(ScaleFactor::transfer, &E::transfer)};
  const std::vector<Factor> whole = {ratio(ScaleFactor::communication, &E::communication)};
  const std::vector<Factor>& rest = determined(network) ? network : whole;
  pop.insert(pop.end(), rest.begin(), rest.end());
  const std::vector<Factor> gpu = {ratio(ScaleFactor::gpu_communication, &E::gpu_communication),
                                   ratio(ScaleFactor::orchestration, &E::orchestration)};
  std::vector<ScaleReport::Loss> losses;
  if (a.global <= 0 || b.global <= 0 || !determined(pop)) return losses;
  const double mean = logarithmic_mean(a.global, b.global);
  const auto add = [&](FactorTree tree, const std::vector<Factor>& factors) {
    if (!determined(factors)) return;
    for (const Factor& f : factors) {
      ScaleReport::Loss loss;
      loss.from = static_cast<int32_t>(from);
      loss.to = static_cast<int32_t>(to);
      loss.tree = tree;
      loss.factor = f.name;
      loss.before = f.before;
      loss.after = f.after;
      loss.points = -100 * mean * std::log(f.after / f.before);
      losses.push_back(std::move(loss));
    }
  };
  add(FactorTree::pop, pop);
  add(FactorTree::gpu, gpu);
  return losses;
}

}  // namespace skewscope::scale
