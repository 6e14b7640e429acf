/* What nanoBragg takes over from the headers of -mask and -img. */
#ifndef BRAGG_STAGES_NANOBRAGG_HEADER_H
#define BRAGG_STAGES_NANOBRAGG_HEADER_H

#include "nanobragg_options.h"

/* Reads n->mask_file, then n->header_file, where they are named, and sets the
 * request from their headers; flags parsed later overrule it.  The mask's pixels
 * become request.detector.mask (1 = computed). */
enum status nanobragg_take_headers(struct nanobragg *n, struct error *e);

#endif
