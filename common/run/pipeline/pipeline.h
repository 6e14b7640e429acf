/*
 * A pipeline file: YAML with one list, `stages:`, of mappings
 *
 *     name     letters, digits and dashes; required
 *     program  the executable; bragg-NAME by default
 *     args     list of its options and operands
 *     count    how many processes share the frames (1)
 *     threads  --threads of each
 *     window   --window of the stage that numbers the frames
 *     input    name of the stage before; the one above in the list by default
 *     restart  how often a process that died is started again (without limit)
 *     order    true: --order of its one process
 *     compress true: --compress of each, false: never (counts that go to another host)
 *     hosts    with a launcher: first, spread, each, or names of hosts, parted by commas (first,
 *              with a count: spread)
 *     cpus     how many processors each of its processes has for itself (all together have all)
 *     gpus     how many graphics cards (each sees all)
 *     after    name of a stage above: a program that takes no frames, started once clients may
 *              connect to that stage, or it has ended well; restart is 0 by default
 */
#ifndef BRAGG_RUN_PIPELINE_H
#define BRAGG_RUN_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

enum {
    PIPELINE_STAGES_MAX = 64,
    PIPELINE_ARGS_MAX = 128,    // of a stage
    PIPELINE_COUNT_MAX = 1000,  // processes of a stage
    PIPELINE_NAME_SIZE = 33,    // with the terminator
    PIPELINE_BYTES_MAX = 1 << 20,
};

enum compress { COMPRESS_NOT_SAID, COMPRESS_FALSE, COMPRESS_TRUE };

struct pipeline_stage {
    char name[PIPELINE_NAME_SIZE];
    char *program;                      // owned
    char *args[PIPELINE_ARGS_MAX + 1];  // owned
    char *hosts;                        // owned; as in the file, NULL: not given
    size_t nargs;
    int64_t count;
    int64_t cpus, gpus;  // of each process, 0: not given
    int64_t restart;     // INT64_MAX: without limit
    enum compress compress;
    int input;  // index of the stage before, -1 for the first one
    int after;  // index of the stage that it waits for, takes no frames; -1: it is one of ours
    long line;  // of its name in the file
};

struct pipeline {
    const char *path;  // borrowed, for messages
    size_t nstages;
    struct pipeline_stage *stages;  // owned
};

/* Reads a pipeline file (`path` is kept, not copied).  Errors: STATUS_INPUT with
 * "FILE:LINE: what, what is allowed"; STATUS_FAILED when it cannot be read.
 * Always followed by pipeline_close. */
enum status pipeline_load(struct pipeline *p, const char *path, struct error *e);
void pipeline_close(struct pipeline *p);

/* After all changes: who takes frames in order, numbers them, or comes before that has one
 * process; some last stage does not only watch.  STATUS_INPUT. */
enum status pipeline_check(const struct pipeline *p, struct error *e);

/* The stage of that name, or NULL. */
struct pipeline_stage *pipeline_find(const struct pipeline *p, const char *name, size_t length);

/* The stage that numbers the frames, as far as one can tell from here: bragg-orient,
 * bragg-replay, or the one whose args have --frames; NULL when there is none. */
struct pipeline_stage *pipeline_source(const struct pipeline *p);

/* True when stage number i takes frames, and no other stage takes those that it gives. */
bool pipeline_is_last(const struct pipeline *p, size_t i);

/* True when a last stage is one that nothing waits for. */
bool pipeline_only_watches(const struct pipeline_stage *s);

/* True for --NAME and --NAME=...; `name` has no dashes. */
bool pipeline_is_option(const char *arg, const char *name);

/* True when its program is NAME, in whatever folder. */
bool pipeline_is_program(const struct pipeline_stage *s, const char *name);

/* True when its program is one of these, bragg-NAME. */
bool pipeline_is_ours(const struct pipeline_stage *s);

/* True when its args have the option --NAME. */
bool pipeline_has(const struct pipeline_stage *s, const char *name);

/* The value of the option --NAME=VALUE in the args of a stage, which owns it.  NULL if the option
 * is not there, or has no value. */
const char *pipeline_value(const struct pipeline_stage *s, const char *name);

/* True when keys are for a stage: its args have none, nor --insecure, which is for the clients of
 * one with --bind. */
bool pipeline_takes_keys(const struct pipeline_stage *s);

/* True when such a stage has a tcp endpoint. */
bool pipeline_needs_keys(const struct pipeline *p);

/* How many groups of last stages get all frames of the source, and must have them durable: a
 * stage is a group unless its args say --group.  A bragg-view, a
 * bragg-report without --hold, or a bragg-tap that only watches,
 * is none.  `text` gets what to say to the source: their names, parted by commas, or how many where
 * those do not fit. */
enum { PIPELINE_GROUPS_SIZE = 1024 };
int pipeline_groups(const struct pipeline *p, char text[PIPELINE_GROUPS_SIZE]);

/* Adds a stage called `name` of program bragg-NAME, which looks on at the images that go to the
 * last stage.  STATUS_USAGE when there is no room, the name is taken, or, where it is `needed`, no
 * stage takes images; *added is NULL then, too. */
enum status pipeline_add_watcher(struct pipeline *p, const char *name, bool needed,
                                 struct pipeline_stage **added, struct error *e);

/* Puts one more word behind the args of a stage.  STATUS_FAILED when there is no room. */
enum status pipeline_add_word(struct pipeline_stage *s, const char *word, struct error *e);

/* Sets an option of a stage: --NAME=VALUE, or --NAME when value is NULL, in place
 * of the one of that name in its args, or behind them.  STATUS_INPUT when there is no room. */
enum status pipeline_set(struct pipeline_stage *s, const char *name, const char *value,
                         struct error *e);

/* Where the stage that numbers the frames is one of ours without --window, and the usual 32 frames
 * are fewer than four for each process of the largest stage, it gets that many.  STATUS_INPUT when
 * there is no room. */
enum status pipeline_widen(struct pipeline *p, struct error *e);

/* The command line's changes; all STATUS_USAGE when refused.
 *   --set STAGE.OPTION=VALUE, or STAGE.OPTION for one without a value
 *   --count STAGE=N
 *   --frames=N, for the stage that numbers the frames */
enum status pipeline_override(struct pipeline *p, const char *text, struct error *e);
enum status pipeline_set_count(struct pipeline *p, const char *text, struct error *e);
enum status pipeline_set_frames(struct pipeline *p, int64_t frames, struct error *e);

/* --wrap=STAGE=COMMAND, --count=STAGE=N: the stage before the first '=', *rest behind it. */
enum status pipeline_split(const struct pipeline *p, const char *option, const char *text,
                           struct pipeline_stage **stage, const char **rest, struct error *e);

#endif
