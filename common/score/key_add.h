/* Puts frames into a key that is in memory. */
#ifndef BRAGG_SCORE_KEY_ADD_H
#define BRAGG_SCORE_KEY_ADD_H

#include "base/error.h"
#include "score/answer.h"
#include "score/key_part.h"

/* A frame with its lattices, as they stand in its middle, and their reflections that have photons.
 * STATUS_FAILED when memory is out. */
enum status key_add_frame(struct key_part *k, uint64_t number, const struct answer *a,
                          struct error *e);

/* Blanks up to a number, for a key that names no frame without reflections. */
enum status key_add_blanks(struct key_part *k, uint64_t number, struct error *e);

/* The detector; nothing where there is one. */
enum status key_add_panels(struct key_part *k, const struct geom_panel *panels, size_t npanels,
                           struct error *e);

/* In the place of a detector: so many panels of unknown size. */
enum status key_add_unknown_panels(struct key_part *k, size_t npanels, struct error *e);

/* Puts all in the order of the numbers of frames; the first of several with a number stays where
 * the key is one of what was sent, else they are an error. */
enum status key_add_end(struct key_part *k, struct error *e);

#endif
