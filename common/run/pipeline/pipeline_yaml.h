/* Reads the YAML of a pipeline file into texts, with line numbers for error messages. */
#ifndef BRAGG_RUN_PIPELINE_YAML_H
#define BRAGG_RUN_PIPELINE_YAML_H

#include "base/error.h"
#include "run/pipeline/pipeline.h"

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
    YAML_HOSTS,
    YAML_CPUS,
    YAML_GPUS,
    YAML_COMPRESS,
    YAML_KEYS,
};

extern const char *const yaml_key_names[YAML_KEYS];

/* One stage.  All texts are owned. */
struct yaml_stage {
    char *value[YAML_KEYS];  // value of each key except YAML_ARGS; NULL: the key is missing
    long line[YAML_KEYS];    // line of each key, from 1; 0: the key is missing
    char *args[PIPELINE_ARGS_MAX];
    size_t nargs;
};

struct yaml_stages {
    size_t count;
    struct yaml_stage stage[PIPELINE_STAGES_MAX];
};

/* Reads `length` bytes of YAML: 2 to PIPELINE_STAGES_MAX stages, each with a name.  `path` is for
 * errors.  STATUS_INPUT: the content is invalid; the error begins with FILE:LINE.
 * Call yaml_stages_free afterwards, also after an error. */
enum status yaml_stages_read(struct yaml_stages *y, const char *path, const char *bytes,
                             size_t length, struct error *e);
void yaml_stages_free(struct yaml_stages *y);

#endif
