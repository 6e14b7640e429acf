/* The options of bragg-write. */
#ifndef BRAGG_STAGES_WRITE_OPTIONS_H
#define BRAGG_STAGES_WRITE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "outputs.h"

struct write_options {
    int format;                    // enum format of all templates; FORMAT_AUTO: by their suffix
    const char *preview;           // template of the previews; NULL: none
    const char *reflections;       // template, or name of the table of a run; NULL: none
    char expt[TEMPLATE_PATH_MAX];  // name of the experiment list, if reflections is for DIALS
    int64_t preview_size;          // longest edge of a preview, in pixels
    const char *index;             // path of the index; NULL: next to the first file
    struct output_settings settings;
    int compression;          // enum nxmx_compression
    int cbf_header;           // enum cbf_header
    int preview_colors;       // enum picture_colors
    int64_t frames_per_file;  // images in a data file of NXmx
    struct opt_marks given;
};

/* The option table.  The options struct of the program begins with a struct write_options. */
extern const struct opt write_options[];

/* Adds an output to *outputs for each template, and for --preview and --reflections, and completes
 * o->settings.
 * STATUS_USAGE: an option has no effect, a name is wrong, or an output would replace the index.
 * STATUS_FAILED: a folder cannot be written to. */
enum status write_options_settle(struct write_options *o, const char *const *templates,
                                 int ntemplates, struct outputs *outputs, struct error *e);

#endif
