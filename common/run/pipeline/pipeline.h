/*
 * A pipeline file: YAML with one list, `stages:`, of mappings
 *
 *     name     letters, digits and dashes; required
 *     program  the executable; bragg-NAME by default
 *     args     list of its options and operands
 *     count    number of processes that divide the frames; default 1
 *     threads  --threads of each process
 *     window   --window of the source
 *     input    name of the stage before; default: the stage above in the list
 *     restart  how often a process that died is restarted; default: no limit
 *     order    true: --order; the stage has one process
 *     compress true: --compress, false: never; default: integer pixels that go to another host
 *     hosts    with a launcher: first, spread, each, or names of hosts separated by commas;
 *              default: first, or spread if a count is given
 *     cpus     number of CPUs that each process has for itself; default: all processes share all
 *     gpus     number of GPUs that each process has for itself; default: each process sees all
 *     after    name of a stage above.  This stage is then a client program without frames.  It
 *              starts when clients can connect to the named stage, or when that stage has ended
 *              without an error.  Default of restart: 0
 */
#ifndef BRAGG_RUN_PIPELINE_H
#define BRAGG_RUN_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum {
    PIPELINE_STAGES_MAX = 64,
    PIPELINE_ARGS_MAX = 128,    // greatest number of args of a stage
    PIPELINE_COUNT_MAX = 1000,  // greatest number of processes of a stage
    PIPELINE_NAME_SIZE = 33,    // bytes of the name of a stage, with the terminator
    PIPELINE_BYTES_MAX = 1 << 20,
};

/* Value of the key `compress` of a stage; COMPRESS_NOT_SAID: the key is missing. */
enum compress { COMPRESS_NOT_SAID, COMPRESS_FALSE, COMPRESS_TRUE };

/* One stage of a pipeline, with the values of its keys. */
struct pipeline_stage {
    char name[PIPELINE_NAME_SIZE];
    char *program;                      // owned
    char *args[PIPELINE_ARGS_MAX + 1];  // owned
    char *hosts;                        // owned; as in the file; NULL: not given
    size_t nargs;
    int64_t count;       // number of processes
    bool has_count;      // the file or an option gives `count`
    bool chosen;         // bragg-run has chosen the engine, or `count`
    int64_t cpus, gpus;  // number of CPUs and GPUs of each process; 0: not given
    int64_t restart;     // INT64_MAX: no limit
    enum compress compress;
    int input;  // index of the stage before; -1: no input
    int after;  // client program: index of the stage it waits for; -1: a stage of the stream
    long line;  // line of its name in the file
};

/* A pipeline: its stages in the order of the file. */
struct pipeline {
    const char *path;  // borrowed; path of the file, for messages
    int64_t pixels;    // number of pixels of an image, from the caller; 0: not known
    size_t nstages;
    struct pipeline_stage *stages;  // owned
};

/* Reads a pipeline file.  `path` is stored, not copied.
 * STATUS_INPUT: the content is invalid; the error begins with FILE:LINE.
 * STATUS_FAILED: the file cannot be read.
 * Call pipeline_close afterwards, also after an error. */
enum status pipeline_load(struct pipeline *p, const char *path, struct error *e);
void pipeline_close(struct pipeline *p);

/* Checks the pipeline after all changes of the command line.  A stage with --order, the source, and
 * the stages before the source must have one process.  At least one sink must not be passive.
 * STATUS_INPUT: one of these rules is violated. */
enum status pipeline_check(const struct pipeline *p, struct error *e);

/* Returns the stage with this name of `length` bytes; NULL: there is none. */
struct pipeline_stage *pipeline_find(const struct pipeline *p, const char *name, size_t length);

/* Returns the source: the first stage that is bragg-orient or bragg-replay, or whose args have
 * --frames.  NULL: there is none. */
struct pipeline_stage *pipeline_source(const struct pipeline *p);

/* Returns true if stage number i is a sink: it takes frames, and no stage reads its output. */
bool pipeline_is_last(const struct pipeline *p, size_t i);

/* Returns true if a sink is passive: the run does not wait for it. */
bool pipeline_only_watches(const struct pipeline_stage *s);

/* Returns true if the program of the stage is NAME, in any folder. */
bool pipeline_is_program(const struct pipeline_stage *s, const char *name);

/* Returns true if the program of the stage is one of braggpipe: bragg-NAME. */
bool pipeline_is_ours(const struct pipeline_stage *s);

/* Returns true if the args of the stage contain the option --NAME, with or without a value. */
bool pipeline_has(const struct pipeline_stage *s, const char *name);

/* Returns the value of the option --NAME=VALUE in the args of a stage, which owns it.  NULL: the
 * option is missing or has no value. */
const char *pipeline_value(const struct pipeline_stage *s, const char *name);

/* Returns true if bragg-run may give the stage encryption keys: its args have neither --keys nor
 * --insecure.  With --bind or --connect, --insecure concerns only the clients of the stage. */
bool pipeline_takes_keys(const struct pipeline_stage *s);

/* Returns true if at least one stage that bragg-run may give keys has a tcp endpoint in its
 * args, apart from --bind and --connect. */
bool pipeline_needs_keys(const struct pipeline *p);

/* Returns the number of consumer groups of sinks that the source waits for.  Each sink that is not
 * passive is a group, with the name of its --group or of the stage.  Sets `text` to the value of
 * the option --groups: the names separated by commas, or their number if the names do not fit. */
enum { PIPELINE_GROUPS_SIZE = 1024 };
int pipeline_groups(const struct pipeline *p, char text[PIPELINE_GROUPS_SIZE]);

/* Adds a passive sink called `name`, with program bragg-NAME, for the images that go to the last
 * sink of the file.  Sets *added to the new stage; NULL: no sink takes images, or an error.
 * STATUS_USAGE: the pipeline is full, the name is in use, or the sink is `needed` and no sink takes
 * images. */
enum status pipeline_add_watcher(struct pipeline *p, const char *name, bool needed,
                                 struct pipeline_stage **added, struct error *e);

/* Appends a word to the args of a stage.  STATUS_INPUT: too many args. */
enum status pipeline_add_word(struct pipeline_stage *s, const char *word, struct error *e);

/* Sets an option of a stage: --NAME=VALUE, or --NAME if `value` is NULL.  Replaces the option of
 * that name in the args of the stage, or appends the option.  STATUS_INPUT: the stage has too
 * many args. */
enum status pipeline_set(struct pipeline_stage *s, const char *name, const char *value,
                         struct error *e);

/* Sets --window of the source to four frames per process of the largest stage, if that is more than
 * the default of 32, the source is a program of braggpipe, and the file sets no window.
 * STATUS_INPUT: the stage has too many args. */
enum status pipeline_widen(struct pipeline *p, struct error *e);

/* Apply an option of the command line of bragg-run to the pipeline:
 *   pipeline_override --set=STAGE.OPTION=VALUE, or STAGE.OPTION for an option without a value
 *   pipeline_set_count --count=STAGE=N
 *   pipeline_set_frames --frames=N, for the source
 * STATUS_USAGE: the change is invalid. */
enum status pipeline_override(struct pipeline *p, const char *text, struct error *e);
enum status pipeline_set_count(struct pipeline *p, const char *text, struct error *e);
enum status pipeline_set_frames(struct pipeline *p, int64_t frames, struct error *e);

/* Splits a value STAGE=REST at the first '=', as in --wrap and --count.  `option` is for errors.
 * STATUS_USAGE: there is no such stage, or no REST. */
enum status pipeline_split(const struct pipeline *p, const char *option, const char *text,
                           struct pipeline_stage **stage, const char **rest, struct error *e);

/* --- a run on one host (one_host.c): none of these choices changes a pixel ----------------- */

/* Returns the number of CPU cores that a run on this host may keep busy: those of the affinity of
 * this process, at most as many as its control groups and an allocation of Slurm allow. */
int64_t one_host_cores(void);

/* Returns the number of CPU cores that the control groups of a process allow, rounded up; 0: no
 * limit.  `groups`: file in the form of /proc/self/cgroup.  `root`: folder where control groups of
 * version 1 or 2 are mounted. */
int64_t cores_of_control_group(const char *groups, const char *root);

/* Gives each process of a bragg-intensity, bragg-write or bragg-serve with several processes its
 * part of the CPU cores, unless the file or an option gives threads or cpus.  If the run may not
 * keep all cores busy on which it may run, also limits the threads of single processes, unless
 * OMP_NUM_THREADS is set.  STATUS_INPUT: a stage has no room for the option. */
enum status one_host_choose(struct pipeline *p, struct error *e);

/* Print, as comments of a shell script, the cores and GPUs of this host, and the threads of each
 * bragg-intensity and of sinks, with the reasons. */
void one_host_print(FILE *out);
void one_host_print_threads(const struct pipeline *p, FILE *out);

#endif
