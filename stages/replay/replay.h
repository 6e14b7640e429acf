/*
 * The parts of bragg-replay: image files that are played like a recording, and --recompute, which
 * finds the origin of a frame, runs the stages that made the frame again, and compares.
 */
#ifndef BRAGG_STAGES_REPLAY_REPLAY_H
#define BRAGG_STAGES_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/idset.h"
#include "io/images/image_file.h"
#include "model/experiment.h"
#include "model/frame.h"
#include "wire/recording.h"

/* --- --recompute ------------------------------------------------------------- */

/* Returns true if the command line has --recompute, and not --help. */
bool recompute_asked(int argc, char **argv);

/* Runs bragg-replay --recompute TARGET (see provenance_open).  Prints whether all bytes are the
 * same, or the first pixel that differs.  Returns the exit status: 0 the same, 1 different or a
 * failure, 2 usage error, 3 the frame cannot be recomputed. */
int recompute_main(int argc, char **argv);

/* Runs the stages of a history in the current folder, connected by pipes as in a shell, with the
 * options as typed, for frame `id` alone.  Records their output as `record`, and writes their
 * messages to the file `said`.  Because a history can come from an unknown source, only stages of
 * braggpipe run, with only options that decide what frames contain.
 *
 * STATUS_INPUT: other stages, another version of the physics, or a stage failed.
 * STATUS_INTERRUPTED: a signal came. */
enum status rerun_stages(const char *history, uint64_t id, const char *record, const char *said,
                         struct error *e);

/* --- the origin of a stored frame: how it was made, its number, and its files ---- */

enum { PROVENANCE_FILES_MAX = 8, PROVENANCE_PATH_MAX = 4096 };

/* Origin of a frame: how it was made, and where it is stored. */
struct provenance {
    uint64_t id;
    char history[EXPERIMENT_HISTORY_SIZE];  // history of the stages before bragg-write
    bool brief;                             // the history is in brief form, see history_brief
    char lineage[17];                       // lineage of the frames; "": unknown
    double scale;                           // --scale of bragg-write; 0: not used
    bool recorded;                          // the frame is in `recording`, not in `files`
    struct recording recording;
    int nfiles;
    char files[PROVENANCE_FILES_MAX][PROVENANCE_PATH_MAX];
};

/* Reads the origin of `target`: FILE:K for frame K of a recording, an index of bragg-write or an
 * NXmx file; or FILE, if it is an image with a history in its header, or contains one frame.
 * STATUS_INPUT: the file does not contain enough information.  Call provenance_close afterwards,
 * also after an error. */
enum status provenance_open(struct provenance *o, const char *target, struct error *e);
void provenance_close(struct provenance *o);

/* --- the geometry of images from another file (replay_geometry.c) ----------------------------- */

/* The file of --geometry-from.  The caller sets `path` and, if they are known, the mean wavelength
 * and the distance of the images, for files that refer to these. */
struct replay_geometry {
    const char *path;  // borrowed
    double wavelength_m, distance_m;
    double gain;        // ADU per photon
    double saturation;  // ADU; 0: not in the file
    bool any_place;     // the file says where panels are in the image, which may be larger
    size_t npanels;
    int64_t (*first)[2];  // owned: place of the first pixel of each panel, fast and slow
    int64_t fast, slow;   // pixels of an image
};

/* Makes detector and beam of *x.  STATUS_INPUT: the file has no geometry, or is invalid.  The
 * caller calls replay_geometry_free, also after an error. */
enum status replay_geometry_setup(struct replay_geometry *g, struct experiment *x, struct error *e);
void replay_geometry_free(struct replay_geometry *g);

/* Checks that the images, of which `path` is the first, have the size of the detector.
 * STATUS_INPUT: they do not. */
enum status replay_geometry_fit(struct replay_geometry *g, const struct experiment *x,
                                const char *path, int64_t fast, int64_t slow, struct error *e);

/* Copies the pixels of all panels, which lie anywhere in the image, into *to.  STATUS_INPUT: the
 * image has another size. */
enum status replay_geometry_pixels(const struct replay_geometry *g, const struct experiment *x,
                                   const char *path, const struct image *from, struct image *to,
                                   struct error *e);

/* Masks the pixels of *x that are not 0 in a mask of the image.  NULL: does nothing. */
void replay_geometry_mask(const struct replay_geometry *g, struct experiment *x,
                          const uint16_t *mask);

/* --- image files, played as if they were a recording --------------------------- */

/* Files in SMV and mini-CBF with one frame each, or NXmx files of bragg-write with their lattices
 * and reflections. */
struct replay_images;

/* Returns true if the first bytes of the file are those of SMV, CBF, TIFF, EDF, HDF5 or CBOR. */
bool replay_images_are(const char *path);

/* Opens `count` files, and adds the numbers of their frames to *ids.  Frames of a single NXmx file
 * keep their numbers; others are numbered from 0 in the order of the files.  Warns about missing
 * entries in the header of the first file, which gives the experiment.  `geometry`: another file
 * gives detector and beam, and the files may also be TIFF, EDF or CXI; NULL: none.  Call this
 * before threads are started, because a child process reads NXmx first. NULL: an error;
 * STATUS_INPUT: a file has another format or is corrupt. */
struct replay_images *replay_images_open(const char *const *paths, size_t count,
                                         const char *geometry, struct id_set *ids, struct error *e);

/* Reads the headers of the frames that are played, whose numbers are *ids, and warns about those
 * that contradict each other.  Call this once, before replay_images_begin.  STATUS_INPUT: a file
 * does not have the panels of the first file, or its header is invalid. */
enum status replay_images_compare(struct replay_images *r, const struct id_set *ids,
                                  struct error *e);

/* Returns the hash that represents the images in the lineage.  It is computed from the names,
 * sizes and times of the files. */
const char *replay_images_digest(const struct replay_images *r);

/* Moves the experiment of the images (detector, beam and crystals) to *x, which must be empty. */
void replay_images_begin(struct replay_images *r, struct experiment *x);

/* Reads frame number f->recipe.id, which was compared, into *f.  STATUS_INPUT: the image has
 * another size than the detector, or is corrupt. */
enum status replay_images_frame(struct replay_images *r, const struct experiment *x,
                                struct frame *f, struct error *e);

/* Closes and frees *r, which may be NULL. */
void replay_images_close(struct replay_images *r);

/* --- contradictions between image files (compare_images.c) ------------------------------- */

/* A frame: its file, and what the file says about detector, beam and rotation. */
struct image_entry {
    const char *path;
    dev_t device;  // device and inode are the same for all names of a file
    ino_t inode;
    uint64_t number;  // number of the frame in an NXmx file
    bool nxmx;
    bool cxi;                    // frame `number` of a CXI file of another program
    bool nexus;                  // frame `number` of an NXmx file of another program
    bool message;                // image `number` of Stream V2
    bool played;                 // the user selected the frame
    bool leads;                  // it is the first frame of its file that is played
    struct image_header header;  // NXmx: only the rotation, and in frames that lead the setup
};

/* Prints one warning for each kind of contradiction between the frames that are played, with the
 * first file that has it and the number of further files:
 *   - another detector or beam than that of *x, which is the experiment of the first file, or of
 * the file `geometry` unless this is NULL;
 *   - a file that is played twice;
 *   - numbers of files or frames that do not ascend by one;
 *   - a rotation that does not begin where the previous one ends, or that has another width.
 * Small differences, such as those of rounded headers, are accepted. */
void compare_images(const struct image_entry *entries, size_t count, const char *geometry,
                    const struct experiment *x);

#endif
