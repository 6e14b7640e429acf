/* Where things stand in a pipeline file, for messages. */
#ifndef BRAGG_RUN_YAML_LINES_H
#define BRAGG_RUN_YAML_LINES_H

#include "base/error.h"
#include "run/pipeline.h"

/* Keys of a stage, as in pipeline.h. */
enum yaml_key {
    YAML_NAME,
    YAML_PROGRAM,
    YAML_ARGS,
    YAML_COUNT,
    YAML_THREADS,
    YAML_WINDOW,
    YAML_INPUT,
    YAML_RESTART,
    YAML_ORDER,
    YAML_AFTER,
    YAML_KEYS,
};

/* Lines from 1; 0 where there is no such key. */
struct yaml_lines {
    long at[PIPELINE_STAGES_MAX][YAML_KEYS];
};

extern const char *const yaml_key_names[YAML_KEYS];

/* Walks over `length` bytes of YAML called `path`.  STATUS_INPUT, with FILE:LINE, for what
 * is no YAML, for aliases, and for more than one document. */
enum status yaml_lines_find(struct yaml_lines *lines, const char *path, const char *bytes,
                            size_t length, struct error *e);

#endif
