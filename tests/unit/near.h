/* Compares doubles that must agree within an absolute tolerance.  NaN never agrees. */
#ifndef BRAGG_TESTS_NEAR_H
#define BRAGG_TESTS_NEAR_H

#include <math.h>

#define assert_near(got, want, tolerance)                                       \
    do {                                                                        \
        const double near_got = (got), near_want = (want);                      \
        if (!(fabs(near_got - near_want) <= (tolerance)))                       \
            fail_msg("%s is %.17g, expected %.17g", #got, near_got, near_want); \
    } while (0)

#endif
