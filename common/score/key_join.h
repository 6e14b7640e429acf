/* Makes one answer key of the files that tell it. */
#ifndef BRAGG_SCORE_KEY_JOIN_H
#define BRAGG_SCORE_KEY_JOIN_H

#include "score/key.h"

/* STATUS_INPUT unless a part tells the same things, of the same detector, as the first one. */
enum status key_agree(const struct key_part *a, const struct key_part *b, struct error *e);

/* Takes the frames and lattices of all parts into k->rows, in the order of their numbers, and of
 * one number in that of the parts.  STATUS_INPUT for a frame in two parts, and for crystals that
 * differ. */
enum status key_join(struct key *k, struct error *e);

#endif
