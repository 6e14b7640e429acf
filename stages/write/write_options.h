/* The options of bragg-write. */
#ifndef BRAGG_STAGES_WRITE_OPTIONS_H
#define BRAGG_STAGES_WRITE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"
#include "outputs.h"

struct write_options {
    int format;  // enum format, of all templates
    const char *preview, *reflections;
    char expt[TEMPLATE_PATH_MAX];  // of DIALS, beside reflections
    int64_t preview_size;          // pixels
    const char *index;             // its path; NULL: beside the first file
    struct output_settings settings;
    int compression, cbf_header, preview_colors;
    int64_t frames_per_file;
    struct opt_marks given;
};

/* For a struct that begins with them. */
extern const struct opt write_options[];

/* Adds the outputs that the templates and options say; STATUS_USAGE for options that would do
 * nothing and for an index that one of the outputs would replace, STATUS_FAILED for folders that
 * cannot be written to. */
enum status write_options_settle(struct write_options *o, const char *const *templates,
                                 int ntemplates, struct outputs *outputs, struct error *e);

#endif
