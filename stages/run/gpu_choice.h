/*
 * What a run on one host does with an NVIDIA GPU: bragg-intensity computes with --engine=cuda, and
 * several writers take its images, unless the pipeline says otherwise.  Last digits of pixels are
 * then others than those of a CPU.
 */
#ifndef BRAGG_STAGES_RUN_GPU_CHOICE_H
#define BRAGG_STAGES_RUN_GPU_CHOICE_H

#include <stdint.h>
#include <stdio.h>

#include "run/pipeline/pipeline.h"

/* The GPUs of this host, and what decides against them. */
struct gpu_choice {
    const char *kept;   // option of bragg-run that turns choices off; NULL: none
    int64_t gpus;       // number of visible GPUs
    char name[80];      // name of the first GPU; "": no stage could use a GPU
    char problem[200];  // why bragg-intensity cannot use the GPUs; "": it can
};

/* Counts the GPUs of this host.  If there are any, and a bragg-intensity of the pipeline could use
 * them, executes that program with --gpus, which checks build, driver and GPUs.  `kept` is
 * stored. */
void gpu_choice_find(struct gpu_choice *g, const struct pipeline *p, const char *kept);

/* Adds --engine=cuda to each bragg-intensity that has no --engine and that a GPU of this host can
 * and may compute.  STATUS_INPUT: a stage has no room for the option. */
enum status gpu_choice_engines(const struct gpu_choice *g, struct pipeline *p, struct error *e);

/* Sets the number of processes of each bragg-write that stores images of a GPU as NXmx, if several
 * are faster on `cores` CPU cores, nothing needs one process, and nothing gives the number. */
void gpu_choice_writers(const struct gpu_choice *g, struct pipeline *p, int64_t cores);

/* Print the choices with their reasons: engines, then writers, as comments of a shell script. */
void gpu_choice_print_engines(const struct gpu_choice *g, const struct pipeline *p, FILE *out);
void gpu_choice_print_writers(const struct gpu_choice *g, const struct pipeline *p, int64_t cores,
                              FILE *out);

/* Prints a line for each choice that was made, and a line if the run does not use the GPUs although
 * no option keeps it from them. */
void gpu_choice_tell(const struct gpu_choice *g, const struct pipeline *p, FILE *out);

#endif
