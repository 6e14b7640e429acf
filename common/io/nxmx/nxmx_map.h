/*
 * How the virtual data sets of a master are made up of those of its files.  Each file holds exactly
 * the frames that the master says are in it, in ascending order; files of writers that shared a run
 * take turns from frame to frame.
 */
#ifndef BRAGG_IO_NXMX_MAP_H
#define BRAGG_IO_NXMX_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx.h"

/* What is numbered along the first axis of a data set. */
enum nxmx_axis { NXMX_FRAMES, NXMX_REFLECTIONS, NXMX_PIXELS, NXMX_AXES };

/* Frames of the master that follow one another and are in one file. */
struct nxmx_run {
    uint64_t file;
    uint64_t first[NXMX_AXES], count[NXMX_AXES];  // items of the master
};

struct nxmx_map {
    size_t nruns;
    struct nxmx_run *runs;      // owned; ascending by file, then by frame
    uint64_t total[NXMX_AXES];  // items of the master
    nxmx_name *name;            // of a file, see nxmx.h
    const void *owner;
};

/* That of a master of all `rows`; false when memory is out.  Freed by nxmx_map_free. */
bool nxmx_map_make(struct nxmx_map *m, const struct nxmx_rows *rows, nxmx_name *name,
                   const void *owner);

/* Maps the data set at `path` into a creation list: the first axis has the items of `axis`, and
 * `inner` the sizes of the `ninner` others, of which there are up to 2. */
void nxmx_map_put(const struct nxmx_map *m, struct hdf5_file *f, hid_t made, enum nxmx_axis axis,
                  int ninner, const hsize_t *inner, const char *path);

void nxmx_map_free(struct nxmx_map *m);

#endif
