// Student's t distribution: is a difference more than chance, and how wide is an interval.
#pragma once

namespace skewscope::scale {

// Probability of a |t| at least this large by chance, with `freedom` > 0 degrees of freedom.
double two_sided_p(double t, double freedom);
// The t that two_sided_p() gives `p` in (0, 1).
double t_of_p(double p, double freedom);

}  // namespace skewscope::scale
