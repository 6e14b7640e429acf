/*
 * The list of the frames in image files: one frame per file of most formats, all images of a file
 * of NXmx and CXI, and the image messages of Stream V2.
 */
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/filetype.h"
#include "base/hash.h"
#include "base/units.h"
#include "io/images/image_file.h"
#include "io/images/stream2.h"
#include "stages/replay/replay_images.h"

static enum filetype type_of(const char *path)
{
    char first[512];
    struct stat st;
    FILE *in = stat(path, &st) || !S_ISREG(st.st_mode) ? NULL : fopen(path, "rbe");
    if (!in)
        return FILETYPE_OTHER;
    const size_t got = fread(first, 1, sizeof first, in);
    (void)fclose(in);
    return filetype_of(first, got);
}

bool replay_images_are(const char *path)
{
    const enum filetype type = type_of(path);
    return type == FILETYPE_SMV || type == FILETYPE_CBF || type == FILETYPE_HDF5 ||
           type == FILETYPE_TIFF || type == FILETYPE_EDF || type == FILETYPE_CBOR;
}

static void add_entry(struct replay_images *r, struct image_entry entry)
{
    struct image_entry *grown = mem_grow(r->entries, r->count, 1, sizeof *grown, &r->room);
    r->entries = grown;
    r->entries[r->count++] = entry;
}

/* Adds a frame for each image of an NXmx file.  `entry` has the path and the identity. */
static enum status add_nxmx(struct replay_images *r, struct image_entry entry, struct error *e)
{
    char history[EXPERIMENT_HISTORY_SIZE];
    nxmx_rows_free(&r->rows);
    const enum status s = nxmx_read_truth(entry.path, history, &r->rows, e);
    entry.nxmx = true;
    for (size_t i = 0; !s && i < r->rows.nframes; i++) {
        const struct nxmx_frame *frame = &r->rows.frames[i];
        entry.number = frame->number;
        entry.header.phi_rad = deg_to_rad(frame->rotation_start);
        entry.header.osc_rad = deg_to_rad(frame->rotation_width);
        add_entry(r, entry);
    }
    return s;
}

/* Adds a frame for each image of a CXI file of another program. */
static enum status add_cxi(struct replay_images *r, struct image_entry entry, size_t files,
                           struct error *e)
{
    if (files > 1)
        return error_set(e, STATUS_INPUT,
                         "%s: is a CXI file, and %zu files are given; expected one CXI file",
                         entry.path, files);
    const enum status s = cxi_images_read(entry.path, &r->cxi, e);
    entry.cxi = true;
    for (size_t i = 0; !s && i < r->cxi.frames; i++) {
        entry.number = i;
        add_entry(r, entry);
    }
    return s;
}

/* Adds a frame for each image of an NXmx file of another program.  Its geometry is its own, unless
 * another file has one. */
static enum status add_nexus(struct replay_images *r, struct image_entry entry, size_t files,
                             struct error *e)
{
    if (files > 1)
        return error_set(e, STATUS_INPUT,
                         "%s: is an NXmx file of another program, and %zu files are given; "
                         "expected one, such as the master file of the series",
                         entry.path, files);
    const enum status s = nexus_images_read(entry.path, &r->nexus, e);
    const struct nexus_images *n = &r->nexus;
    r->geometry.path = r->geometry.path ? r->geometry.path : entry.path;
    entry.nexus = true;
    for (size_t i = 0; !s && i < n->frames; i++) {
        entry.number = i;
        entry.header.phi_rad = n->start_rad ? n->start_rad[i] : 0;
        entry.header.osc_rad = n->width_rad ? n->width_rad[i] : 0;
        add_entry(r, entry);
    }
    return s;
}

/* Adds an image of Stream V2.  The other messages are no frames. */
static void add_message(struct replay_images *r, struct image_entry entry)
{
    const enum stream2_kind kind = stream2_kind_of(entry.path, &entry.number);
    entry.message = true;
    if (kind != STREAM2_START && kind != STREAM2_END)
        add_entry(r, entry);
}

enum status replay_list_find_start(struct replay_images *r, const char *const *paths, size_t count,
                                   struct error *e)
{
    uint64_t number;
    enum status s = STATUS_OK;
    for (size_t i = 0; i < count && !s; i++) {
        if (type_of(paths[i]) != FILETYPE_CBOR ||
            stream2_kind_of(paths[i], &number) != STREAM2_START)
            continue;
        s = r->start.fast
                ? error_set(e, STATUS_INPUT, "%s: is a second start message; expected one series",
                            paths[i])
                : image_header_read(paths[i], &r->start, e);
        r->geometry.path = r->geometry.path ? r->geometry.path : paths[i];
    }
    return s;
}

/* What wrote an HDF5 file. */
enum writer { WRITER_BRAGG, WRITER_CXI, WRITER_NEXUS };

static enum writer writer_of(const char *path)
{
    return cxi_images_are(path) ? WRITER_CXI : nexus_images_are(path) ? WRITER_NEXUS : WRITER_BRAGG;
}

/* Checks that an image has a geometry, in its header or in another file.  STATUS_INPUT: it has
 * none, or two. */
static enum status check_geometry(const char *path, enum filetype type, enum writer writer,
                                  const char *geometry, struct error *e)
{
    const bool bare = type == FILETYPE_TIFF || type == FILETYPE_EDF || type == FILETYPE_CBOR ||
                      writer == WRITER_CXI;
    if (bare && !geometry)
        return error_set(e, STATUS_INPUT,
                         "%s: the file has no geometry of its detector. Give "
                         "--geometry-from=FILE, a file of CrystFEL (.geom), DIALS (.expt), pyFAI "
                         "(.poni) or NXmx, or an image",
                         path);
    if (geometry && type == FILETYPE_HDF5 && writer == WRITER_BRAGG)
        return error_set(e, STATUS_INPUT,
                         "%s: is not a file of another program. Remove --geometry-from: an "
                         "NXmx file of bragg-write contains its geometry",
                         path);
    return STATUS_OK;
}

enum status replay_list_add(struct replay_images *r, const char *path, size_t files, uint64_t *hash,
                            struct error *e)
{
    struct stat st;
    if (stat(path, &st))
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    if (!replay_images_are(path))
        return error_set(e, STATUS_INPUT,
                         "%s: not an image; expected SMV, CBF, NXmx, TIFF, EDF, CXI or messages of "
                         "Stream V2. Play a "
                         "recording alone",
                         path);
    const int64_t facts[3] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
    *hash = hash_bytes(hash_text(*hash, path), facts, sizeof facts);
    const struct image_entry entry = {.path = path, .device = st.st_dev, .inode = st.st_ino};
    const enum filetype type = type_of(path);
    const enum writer writer = type == FILETYPE_HDF5 ? writer_of(path) : WRITER_BRAGG;
    const enum status s = check_geometry(path, type, writer, r->geometry.path, e);
    if (s)
        return s;
    if (type == FILETYPE_HDF5)
        return writer == WRITER_CXI     ? add_cxi(r, entry, files, e)
               : writer == WRITER_NEXUS ? add_nexus(r, entry, files, e)
                                        : add_nxmx(r, entry, e);
    if (type == FILETYPE_CBOR)
        add_message(r, entry);
    else
        add_entry(r, entry);
    return STATUS_OK;
}
