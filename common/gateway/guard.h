/* The check that every frame passes before it leaves for a foreign program. */
#ifndef BRAGG_GATEWAY_GUARD_H
#define BRAGG_GATEWAY_GUARD_H

#include "gateway/delivery.h"

/* Checks that a delivery does not contradict itself, because clients do not check it:
 *   - the type of the pixels is known and in `allowed` (one bit per enum pixel_type);
 *   - the size of the pixels follows from shape and type;
 *   - every number is finite;
 *   - no key is empty or the beginning of another key, which CrystFEL would confuse.
 * STATUS_INPUT, with a message that names the fault. */
enum status guard_check(const struct delivery *d, unsigned allowed, struct error *e);

#endif
