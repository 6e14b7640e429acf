/* The one check of everything that leaves for a foreign program. */
#ifndef BRAGG_GATEWAY_GUARD_H
#define BRAGG_GATEWAY_GUARD_H

#include "gateway/delivery.h"

/* Clients believe what they are told, so nothing leaves that contradicts itself: the
 * pixels are of a known type, `allowed` (bit per enum pixel_type) has it, and shape times
 * size is their length; every number is finite; no key is empty or the beginning of
 * another one (CrystFEL would take one for the other).  STATUS_INPUT says what is wrong. */
enum status guard_check(const struct delivery *d, unsigned allowed, struct error *e);

#endif
