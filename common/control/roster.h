/* The list of processes after the source, found by where they are and by who they are. */
#ifndef BRAGG_CONTROL_ROSTER_H
#define BRAGG_CONTROL_ROSTER_H

#include "control/stream.h"

/* By address, by uuid; NULL when there is none. */
struct peer *roster_at(const struct roster *r, const struct address *address);
struct peer *roster_find(const struct roster *r, const char *uuid);

/* A new one, which nobody has by either; NULL when there is no room. */
struct peer *roster_add(struct roster *r, const struct address *address, const char *uuid);

/* One comes from another address now. */
void roster_move(struct roster *r, struct peer *p, const struct address *address);

/* Frees one; frees all. */
void roster_remove(struct roster *r, struct peer *p);
void roster_clear(struct roster *r);

#endif
