// Student's t distribution: is a difference more than chance, and how wide is an interval.
#pragma once

#include <boost/math/distributions/students_t.hpp>

namespace skewscope::scale {

// Its figures are NaN, not exceptions, where variances underflow.
using StudentPolicy =
    boost::math::policies::policy<boost::math::policies::domain_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
                                  boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;
using Student = boost::math::students_t_distribution<double, StudentPolicy>;

}  // namespace skewscope::scale
