/*
 * The images of NXmx files: data sets [frame, slow, fast], packed, a chunk for each frame; in a
 * master virtual ones over those of the other files.  Layer 0 is /entry/data/data, the others are
 * /entry/derivatives/NAME, in float32, one for each plane that frames bring along, whose names
 * stand in /entry/braggpipe/derivatives, and /entry/braggpipe/labels, in uint32.
 */
#ifndef BRAGG_IO_NXMX_LAYERS_H
#define BRAGG_IO_NXMX_LAYERS_H

#include "io/hdf5/hdf5_file.h"
#include "io/nxmx/nxmx.h"
#include "io/nxmx/nxmx_map.h"

/* Layers of a kind. */
size_t nxmx_layers_count(const struct nxmx_kind *kind);

/* The data sets of a file that is written, or read. */
struct nxmx_layers {
    size_t count;
    hid_t data[NXMX_LAYERS_MAX];
};

/* Creates the layers, empty, for so many frames; a step that fails is remembered by *f.  Followed
 * by nxmx_layers_close. */
void nxmx_layers_create(struct nxmx_layers *l, struct hdf5_file *f, const struct nxmx_kind *kind,
                        size_t frames);

/* Puts the chunks of frame number i of the file, one for each layer. */
void nxmx_layers_put(struct nxmx_layers *l, struct hdf5_file *f, size_t i,
                     const struct nxmx_chunk *chunks);

/* Says in *kind which planes and labels a file has; false when it is damaged. */
bool nxmx_layers_find(struct hdf5_file *f, struct nxmx_kind *kind);

/* Opens those of a file of that kind; false when it has others.  Followed by nxmx_layers_close. */
bool nxmx_layers_open(struct nxmx_layers *l, struct hdf5_file *f, const struct nxmx_kind *kind);

/* Reads the chunks at a place, one for each layer; false when that cannot be. */
bool nxmx_layers_get(const struct nxmx_layers *l, size_t place, struct nxmx_chunk *chunks);

void nxmx_layers_close(struct nxmx_layers *l);

/* Creates those of a master. */
void nxmx_layers_map(struct hdf5_file *f, const struct nxmx_kind *kind, const struct nxmx_map *map);

#endif
