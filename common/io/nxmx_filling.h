/*
 * A file of a series of NXmx files that is being filled: what its frames bring is kept, packed, in
 * a temporary file beside it.
 */
#ifndef BRAGG_IO_NXMX_FILLING_H
#define BRAGG_IO_NXMX_FILLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/idset.h"
#include "io/nxmx_pack.h"
#include "io/nxmx_rows.h"
#include "io/replace.h"
#include "model/frame.h"

struct nxmx_filling {
    uint64_t file;  // its number
    struct nxmx_rows rows;
    struct id_set held;  // frames, those too that stay in the file that is there
    struct replace spool;
    off_t used;  // bytes of the spool
    size_t nplaces, places_room;
    struct nxmx_place {
        uint64_t id;
        off_t at;
    } * places;  // owned: of chunks, each behind its length, then rows and pixels
};

/* A new one for the file of this path; STATUS_FAILED when that cannot be.  Freed by
 * nxmx_filling_free. */
enum status nxmx_filling_open(struct nxmx_filling **g, uint64_t file, const char *path,
                              struct error *e);

/* Keeps a frame: its image, packed in *chunk, whose memory is used again, its planes, which are
 * packed likewise, and its reflections.  STATUS_FAILED when a step fails. */
enum status nxmx_filling_keep(struct nxmx_filling *g, enum nxmx_compression compression,
                              struct nxmx_chunk *chunk, const struct frame *f, struct error *e);

bool nxmx_filling_has(const struct nxmx_filling *g, uint64_t id);

/* Reads what was kept of a frame that it has: `nchunks` of its image and planes, and its
 * reflections, for which *t has room.  STATUS_FAILED when that cannot be. */
enum status nxmx_filling_get(const struct nxmx_filling *g, uint64_t id, size_t nchunks,
                             struct nxmx_chunk *chunks, struct reflection_table *t,
                             struct error *e);

void nxmx_filling_free(struct nxmx_filling *g);

#endif
