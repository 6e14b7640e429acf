/* The outputs of bragg-write: the files that each frame has, or shares. */
#ifndef BRAGG_STAGES_OUTPUTS_H
#define BRAGG_STAGES_OUTPUTS_H

#include <stdbool.h>
#include <stdint.h>

#include "io/detectors/assembly.h"
#include "io/nxmx/nxmx_kept.h"
#include "io/output/frame_index.h"
#include "model/moved.h"
#include "output.h"

enum {
    OUTPUTS_TEMPLATES_MAX = 4,
    OUTPUTS_MAX = OUTPUTS_TEMPLATES_MAX + 3,  // a preview, and reflections in two files
    OUTPUTS_NAMES_SIZE = OUTPUTS_MAX * TEMPLATE_PATH_MAX
};

struct outputs {
    struct output all[OUTPUTS_MAX];
    int count;
    struct output *series;     // the one of NXmx, or NULL
    bool named;                // files, not of the series, were to get their names
    struct assembly assembly;  // of several panels, where some output holds one image
    struct moved moved;        // of that, or else of the panels: as the frame at hand saw it
    uint32_t said;             // see outputs_unsaid.h
};

/* Adds one, see output_parse; at most OUTPUTS_MAX.  STATUS_USAGE for a name that is there, and for
 * a second series. */
enum status outputs_add(struct outputs *o, const char *text, enum format format, int64_t edge_max,
                        struct error *e);

/* Whether one has that format. */
bool outputs_have(const struct outputs *o, enum format format);

/* Whether one keeps planes, which have a value for each pixel then: no list. */
bool outputs_keep_planes(const struct outputs *o);

/* Prepares for frames of *x, which must last; STATUS_INPUT when they cannot be what the settings
 * say, or an output holds one image and the panels make none. */
enum status outputs_begin(struct outputs *o, const struct output_settings *settings,
                          const struct experiment *x, struct error *e);

/* Begins the files of the whole run, if there are any: see run_table.h.  Format and names of the
 * settings are set here. */
enum status outputs_begin_run(struct outputs *o, const struct run_table_settings *settings,
                              struct error *e);

/* At the end of the run: writes what is left of a series, then these. */
enum status outputs_end_run(struct outputs *o, struct error *e);

/* The name of one that has a file for each frame but no number in it, or NULL. */
const char *outputs_unnumbered(const struct outputs *o);

/* Writes a frame to all, and packs it for the series; see output_write.  All files are there before
 * the first gets its name, and that is after the index was looked at (frame_index_hold); planes get
 * theirs before their image. STATUS_FAILED when a file is in the way that the index does not name,
 * unless the settings say that it is replaced. */
enum status outputs_write(struct outputs *o, const struct output_settings *settings,
                          const struct experiment *x, const struct frame *f,
                          struct frame_index *index, struct error *e);

/* Whether some file may have got its name. */
bool outputs_named(const struct outputs *o);

/* The names of a frame's files as the index at path `index` gives them, parted by tabs: without
 * the folder if that is the index's own.  Returns the size of those that are there and hold
 * nothing else. */
uint64_t outputs_list(const struct outputs *o, uint64_t id, const char *index,
                      char names[OUTPUTS_NAMES_SIZE]);

/* The files of frames `first` to `last` for people: "lyso_0000.img ... lyso_0019.img", parted by
 * commas; of a series its master. */
void outputs_describe(const struct outputs *o, uint64_t first, uint64_t last, char *text,
                      size_t size);

/* Whether all files of a frame that the index names are there, and are those that were entered:
 * their names, sizes, and what they say of themselves. */
bool outputs_are_there(const struct outputs *o, const struct output_settings *settings,
                       const struct experiment *x, const struct frame_index *index, uint64_t id);

/* The same of all but the series, of a frame that is kept for it. */
bool outputs_are_beside(const struct outputs *o, const struct output_settings *settings,
                        const struct experiment *x, const struct frame_index *index,
                        const struct nxmx_note *note);

/* Removes what dead processes left. */
void outputs_remove_leftovers(const struct outputs *o);

void outputs_close(struct outputs *o);

#endif
