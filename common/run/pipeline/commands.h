/*
 * The processes of a pipeline and their command lines.  Every process binds its own
 * output and connects to those of all processes of the stage before; a process
 * is called NAME, or NAME.1, NAME.2 ... where a stage has several.
 */
#ifndef BRAGG_RUN_COMMANDS_H
#define BRAGG_RUN_COMMANDS_H

#include <stdbool.h>
#include <stdio.h>

#include "run/pipeline/pipeline.h"
#include "run/pipeline/share.h"

struct hosts;
struct placement;

enum { COMMANDS_MORE_MAX = PIPELINE_COUNT_MAX };  // that may come while the run lasts

enum { WRAPS_MAX = 64, PROCESS_NAME_SIZE = PIPELINE_NAME_SIZE + 12 };

/* STAGE=COMMAND */
struct wrap {
    const struct pipeline_stage *stage;
    const char *command;  // borrowed; words parted by blanks
};

struct command_settings {
    const char *folder;                 // of the sockets, statistics and traces
    const char *workdir;                // where all stages run; NULL: here
    const char *keys;                   // folder of the keys of tcp endpoints; NULL: none
    bool resume;                        // last stages get --resume
    bool stats, trace;                  // as files STATS and TRACE in the folder, see command_file
    const struct hosts *hosts;          // where a launcher starts them; NULL: here, and then ...
    const struct placement *placement;  // ... NULL, too
    size_t nwraps;
    struct wrap wraps[WRAPS_MAX];
};

struct command {
    char name[PROCESS_NAME_SIZE];
    const struct pipeline_stage *stage, *before;  // before: NULL for a first one
    const char *workdir;                 // it runs there, and what it reads lies here; NULL: here
    const char *beside;                  // absolute; what it reads may lie there, too; NULL: no
    const struct pipeline_stage *after;  // it takes no frames, and waits for that one; else NULL
    const struct hosts *hosts;           // of which it runs on one; NULL: here
    struct share share;                  // of its host
    int64_t number;                      // of its stage's processes, from 0
    bool movable;                        // it binds nothing: any of its hosts will do
    bool last;                           // nothing comes after it
    bool watches;                        // and nothing waits for it
    bool source;                         // it numbers the frames
    bool wrapped;                        // a command stands before it
    char **argv;                         // owned, ended by NULL, with room for one word more
    const char *again;                   // that word, for one that is started again; NULL: none
    char worker[8];  // BRAGG_WORKER of one of several: its number, from 0; else empty
};

/* Where keys are when they are made for a run, in the folder that commands_print makes. */
#define COMMANDS_KEYS "$dir/keys"

struct commands {
    bool makes_keys;
    char *beside;  // owned by the C library: the folder of the pipeline file; NULL: this one
    size_t count, room;
    struct command *list;  // owned, in the order of the file, then those that were added; it stays
};

/* Puts the command lines together; finds programs beside this executable, else in
 * PATH.  STATUS_INPUT with FILE:LINE when there is none, STATUS_USAGE when there is none for
 * a wrap.  With a wrap all stages wait for each other much longer.  Always followed by
 * commands_free. */
enum status commands_make(struct commands *c, const struct pipeline *p,
                          const struct command_settings *settings, struct error *e);
void commands_free(struct commands *c);

/* Puts the command line of one more process of a stage together, whose count grows; that of a
 * `movable` one knows those around it.  STATUS_FAILED when there is no room. */
enum status commands_add(struct commands *c, const struct pipeline *p, struct pipeline_stage *stage,
                         const struct command_settings *settings, struct error *e);

/* FOLDER/NAME.KIND, of a process; the caller frees it with mem_free. */
char *command_file(const char *folder, const char *name, const char *kind);

/* Prints the commands for a shell, made with folder "$dir". */
void commands_print(const struct commands *c, FILE *out);

#endif
