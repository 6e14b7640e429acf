/* All outputs of bragg-write: the files of a frame, and the files that frames share. */
#ifndef BRAGG_STAGES_OUTPUTS_H
#define BRAGG_STAGES_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/idset.h"
#include "io/detectors/assembly.h"
#include "io/nxmx/nxmx_spool.h"
#include "io/output/frame_index.h"
#include "model/recipe.h"
#include "output.h"

enum {
    OUTPUTS_TEMPLATES_MAX = 4,                // number of templates on the command line
    OUTPUTS_MAX = OUTPUTS_TEMPLATES_MAX + 3,  // also a preview, and reflections in two files
    OUTPUTS_NAMES_SIZE = OUTPUTS_MAX * TEMPLATE_PATH_MAX
};

struct outputs {
    struct output all[OUTPUTS_MAX];
    int count;
    struct output *series;     // the NXmx output in `all`; NULL: none
    bool named;                // a file that is not of the series may have its final name
    struct assembly assembly;  // puts panels into one image; unused if no output needs that
    struct moved moved;        // detector of the files (the assembled one, if there is one), at
                               // its position in the current frame
    uint32_t said;             // warnings that were printed, one bit each; see outputs_unsaid.c
};

/* Adds an output, at most OUTPUTS_MAX; see output_parse.
 * STATUS_USAGE: this is a second series, or output_parse refuses the name. */
enum status outputs_add(struct outputs *o, const char *text, enum format format, int64_t edge_max,
                        struct error *e);

/* Returns true if an output has this format. */
bool outputs_have(const struct outputs *o, enum format format);

/* Returns true if an output stores derivative images.  They need a value for each pixel then, not a
 * list of pixels. */
bool outputs_keep_planes(const struct outputs *o);

/* Prepares for frames of *x, which must stay valid.
 * STATUS_INPUT: --cbf-header does not fit the detector, or an output stores one image and the
 * panels do not fit one grid of pixels. */
enum status outputs_begin(struct outputs *o, const struct output_settings *settings,
                          const struct experiment *x, struct error *e);

/* Begins the reflection table of the run, if there is one: see output.h.  The function
 * sets format and names in a copy of *settings. */
enum status outputs_begin_run(struct outputs *o, const struct run_table_settings *settings,
                              struct error *e);

/* At the end of the run: writes the unfinished files of the series, then the reflection table. */
enum status outputs_end_run(struct outputs *o, struct error *e);

/* Returns the name of an output that needs a number, because it makes a file per frame, but has
 * none.  NULL: there is no such output. */
const char *outputs_unnumbered(const struct outputs *o);

/* Writes a frame to all outputs, and compresses it for the series; see output_write.  The order is:
 *   1. all files are complete under temporary names;
 *   2. the index is checked (frame_index_hold);
 *   3. the files get their final names, derivative images before their image.
 * STATUS_FAILED: a file that the index does not list is in the way, and settings->overwrite is not
 * set. */
enum status outputs_write(struct outputs *o, const struct output_settings *settings,
                          const struct experiment *x, const struct frame *f,
                          struct frame_index *index, struct error *e);

/* Returns true if a file may have its final name. */
bool outputs_named(const struct outputs *o);

/* Puts the names of the files of a frame into `names`, separated by tabs, as the index at path
 * `index` lists them: without the folder if it is that of the index.  Returns the size in bytes of
 * the existing files that contain only this frame. */
uint64_t outputs_list(const struct outputs *o, uint64_t id, const char *index,
                      char names[OUTPUTS_NAMES_SIZE]);

/* Appends the names of the files of frames `first` to `last`, for people, to `text`:
 * "lyso_0000.img ... lyso_0019.img", outputs separated by commas.  A series has the name of its
 * master, if the master exists, and those of unfinished data files. */
void outputs_describe(const struct outputs *o, uint64_t first, uint64_t last, char *text,
                      size_t size);

/* Returns true if all files of a frame exist and are the ones that the index lists: with equal
 * names and sizes, and with this frame and lineage in their headers (output_is_entered). */
bool outputs_are_there(const struct outputs *o, const struct output_settings *settings,
                       const struct experiment *x, const struct frame_index *index, uint64_t id);

/* Returns true if a frame that is stored in a .part file of the series has all of its other
 * files. */
bool outputs_are_beside(const struct outputs *o, const struct output_settings *settings,
                        const struct experiment *x, const struct frame_index *index,
                        const struct nxmx_note *note);

/* Removes temporary files of processes that died. */
void outputs_remove_leftovers(const struct outputs *o);

/* Logs how many pixels --scale clipped, and frees everything that *o holds. */
void outputs_close(struct outputs *o);

/* --- names, against each other, the index, and files of other programs --------------------- */

/* Checks that no output may write a file with the name of the index, however the name is
 * spelled. STATUS_USAGE: an output may. */
enum status outputs_check_index(const struct outputs *o, const char *index, struct error *e);

/* Checks that no two outputs may write files of the same name, however the names are spelled.
 * STATUS_USAGE: two outputs may. */
enum status outputs_check_names(const struct outputs *o, struct error *e);

/* Checks that `other`, which is not one of the outputs, may not write files with the names of an
 * output.  STATUS_USAGE: it may. */
enum status outputs_check_other(const struct outputs *o, const struct output *other,
                                struct error *e);

/* Files that existed before the run. */
struct taken {
    struct id_set numbers[1 + OUTPUTS_MAX];  // numbers of the files: [0] data files of the series,
                                             // [1 + i] files of output i
};

/* Finds the existing files, which are not empty, with names of the outputs.  The caller calls
 * taken_free. */
void taken_find(struct taken *t, const struct outputs *o);

/* Checks that no existing file has the name of a file of frames 0 to frames - 1. STATUS_FAILED:
 * a file has such a name. */
enum status taken_check(const struct taken *t, const struct outputs *o, uint64_t frames,
                        struct error *e);

void taken_free(struct taken *t);

/* ---- the sum of all frames (powder_sum.c) --------------------------------------------------- */

/* The sum of all frames of a run, as one image of its own.  The order of frames does not change a
 * byte.  All zero: there is no sum. */
struct powder_sum {
    struct outputs outputs;             // one output: the file of the sum
    enum nxmx_compression compression;  // set by the caller: of NXmx
    const struct experiment *x;         // borrowed
    enum pixel_type type;               // of the frames
    int64_t *whole;        // owned: sums of counts, or whole photons; NULL: there is no frame yet
    uint64_t *parts;       // owned: sums of photons below one, in units of 2^-64; NULL: counts
    struct id_set frames;  // frames that were added
};

/* Parses the name of the file.  STATUS_USAGE: the name has a number, its format cannot store sums,
 * or one of the other outputs may write it. */
enum status powder_sum_open(struct powder_sum *p, const char *path, const struct outputs *others,
                            struct error *e);

/* Prepares for frames of *x, which must stay valid.  STATUS_INPUT: the pixels of these frames
 * cannot be added, or the format cannot store the detector.  STATUS_FAILED: the file exists, and
 * settings->overwrite is not set. */
enum status powder_sum_begin(struct powder_sum *p, const struct output_settings *settings,
                             const struct experiment *x, struct error *e);

/* Adds a frame.  STATUS_INPUT: the frame has pixels that cannot be added.  STATUS_FAILED: its
 * memory was reused. */
enum status powder_sum_add(struct powder_sum *p, const struct output_settings *settings,
                           const struct frame *f, struct error *e);

/* Writes the file, in which pixels that are not computed are 0.  `run`: number of the run.
 * STATUS_INPUT: the format cannot store a sum.  STATUS_FAILED: fewer than `expected` frames were
 * added, or writing failed. */
enum status powder_sum_end(struct powder_sum *p, const struct output_settings *settings,
                           uint64_t expected, uint64_t run, struct error *e);

/* Frees everything that *p holds.  *p may be all zero. */
void powder_sum_close(struct powder_sum *p);

/* ---- facts that the files do not store (outputs_unsaid.c) ---------------------------------- */

/* Bit in outputs.said of a warning that outputs.c prints: the numbers in names become longer. */
#define OUTPUTS_SAID_NUMBERS (1U << 31)

/* The frame that is being written, with the settings of the outputs. */
struct unsaid_frame {
    const struct experiment *image;  // experiment with one panel, for formats of one image
    const struct experiment *x;      // experiment with its panels, for all other formats
    const struct frame *f;
    double scale;          // --scale in ADU per photon; 0: not given
    enum cbf_header kind;  // --cbf-header
};

/* Warns of each fact of the frame that an output does not store, unless its bit in *said is set,
 * and sets the bit.  *said is 0 at first.  Devices such as /dev/null do not count as outputs. */
void outputs_warn_of_unsaid(const struct outputs *o, const struct unsaid_frame *u, uint32_t *said);

#endif
