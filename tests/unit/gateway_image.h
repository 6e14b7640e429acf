/* An image and its panel, for tests of messages to live clients. */
#ifndef BRAGG_TESTS_GATEWAY_IMAGE_H
#define BRAGG_TESTS_GATEWAY_IMAGE_H

#include "model/experiment.h"

enum { FAST = 3, SLOW = 2 };

static uint16_t pixels[FAST * SLOW] = {1, 2, 3, 4, 5, 65535};

static struct panel panel = {.fast_pixels = FAST,
                             .slow_pixels = SLOW,
                             .pixel_m = 1e-4,
                             .distance_m = 0.1,
                             .fast = {1, 0, 0},
                             .slow = {0, 1, 0}};

#endif
