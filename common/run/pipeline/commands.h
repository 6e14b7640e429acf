/*
 * The processes of a pipeline and their command lines.
 *
 * A process is called NAME, or NAME.1, NAME.2 ... if its stage has several.
 *
 * The command lines say where each process listens (binds), and to which processes it connects.  On
 * one host the endpoints are sockets in the private folder.  With a launcher they are tcp ports
 * that are free on the host of the process that binds.
 *
 * The workers (the stage directly after the source) bind nothing: the stages before and after them
 * bind.  More workers can therefore join during a run.  Between other stages the upper one binds;
 * on several hosts the stage with fewer processes binds, so that few ports are needed.
 */
#ifndef BRAGG_RUN_COMMANDS_H
#define BRAGG_RUN_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "run/hosts/hosts.h"
#include "run/pipeline/pipeline.h"

/* --- CPUs and GPUs of a process --------------------------------------------- */

/* Restricts a process to some of the CPUs and GPUs of its host. */

/* The CPUs and GPUs of a process: their number (0: all of the host), and the index of the first
 * one among the CPUs or GPUs of the host.  The index wraps around after the last one. */
struct affinity {
    int64_t cpus, first_cpu, gpus, first_gpu;
};

enum { AFFINITY_TEXT_SIZE = 96 };

/* Convert *s to and from the text "CPUS FIRST GPUS FIRST".  STATUS_USAGE: the text is malformed. */
void affinity_print(const struct affinity *s, char text[AFFINITY_TEXT_SIZE]);
enum status affinity_parse(struct affinity *s, const char *text, struct error *e);

/* Restricts this process, and the programs that it executes, to the CPUs and GPUs of *s.  Sets
 * the CPU affinity, OMP_NUM_THREADS and CUDA_VISIBLE_DEVICES.  The GPUs are chosen from the
 * previous value of CUDA_VISIBLE_DEVICES, or from all GPUs of the host.
 * STATUS_FAILED: the host has fewer CPUs or GPUs than requested. */
enum status affinity_set(const struct affinity *s, struct error *e);

/* Returns the number of GPUs that a process on this host may use: those of CUDA_VISIBLE_DEVICES if
 * it is set, otherwise all of the host. */
int64_t affinity_count_gpus(void);

enum { COMMANDS_MORE_MAX = PIPELINE_COUNT_MAX };  // processes that --add may start during a run

enum { WRAPS_MAX = 64, PROCESS_NAME_SIZE = PIPELINE_NAME_SIZE + 12 };

/* --- command lines ---------------------------------------------------------- */

/* Value of one option --wrap=STAGE=COMMAND. */
struct wrap {
    const struct pipeline_stage *stage;
    const char *command;  // borrowed; words separated by blanks
};

/* Host of a process, and the tcp ports that the process binds there: for --out, --in and
 * --control. 0: it does not bind such a port. */
struct place {
    const struct host *host;
    int out, in, control;
};

/* Host and ports of each process of a run on several hosts. */
struct placement {
    struct place *list;  // owned; the processes at the start of the run, in the order of the file
    size_t count;
    size_t first[PIPELINE_STAGES_MAX];    // index in `list` of the first process of each stage
    int64_t counts[PIPELINE_STAGES_MAX];  // number of processes of each stage
};

/* Settings from which the command lines of all processes are made. */
struct command_settings {
    const char *folder;         // private folder: sockets, statistics and traces
    const char *workdir;        // working folder of all stages; NULL: the current one
    const char *keys;           // folder with the keys of tcp endpoints; NULL: no keys
    bool resume;                // sinks get --resume
    bool stats, trace;          // each process writes its statistics, or its trace, to command_file
    const struct hosts *hosts;  // hosts of the launcher; NULL: all run on this host
    const struct placement *placement;  // place of each process; NULL without `hosts`
    size_t nwraps;
    struct wrap wraps[WRAPS_MAX];
};

/* The command line of one process, and the properties of the process. */
struct command {
    char name[PROCESS_NAME_SIZE];
    const struct pipeline_stage *stage, *before;  // before: NULL in a stage without input
    const char *workdir;  // working folder; input files are searched here first.  NULL: current one
    const char *beside;   // absolute folder where input files are searched last; NULL: none
    const struct pipeline_stage *after;  // client program: stage it waits for; NULL: a stage
    const struct hosts *hosts;           // it runs on one of these hosts; NULL: on this host
    struct affinity affinity;            // its CPUs and GPUs
    int64_t number;                      // number among the processes of its stage, from 0
    bool movable;                        // binds nothing, so it can run on any of its hosts
    bool last;                           // sink
    bool watches;                        // passive sink
    bool source;                         // source: numbers the frames
    bool wrapped;                        // runs under a command of --wrap
    char **argv;                         // owned, ended by NULL, with room for one more word
    const char *again;                   // extra word after a restart, "--resume"; NULL: none
    char worker[8];  // BRAGG_WORKER: number from 0 if the stage has several processes; else ""
};

/* Folder of the keys in the script that commands_print prints.  The script makes the folder $dir
 * and the keys. */
#define COMMANDS_KEYS "$dir/keys"

/* The command lines of all processes of a run. */
struct commands {
    bool makes_keys;  // the script of commands_print has to make keys
    char *beside;     // folder of the pipeline file, from malloc; NULL: the current one
    size_t count, room;
    struct command *list;  // owned; processes in the order of the file, then those of --add.  The
                           // list is never moved
};

/* Returns the number of ports that a process of stage number i binds on several hosts. */
size_t process_ports(const struct pipeline *p, size_t i);

/* Assigns hosts and ports to all processes, after the hosts have reported their free ports.
 * STATUS_FAILED: a host reported too few ports.
 * Call placement_free afterwards, also after an error. */
enum status placement_make(struct placement *l, const struct pipeline *p, const struct hosts *hosts,
                           struct error *e);
void placement_free(struct placement *l);

/* Makes the command lines.  Programs are searched in the folder of this executable, then in PATH.
 * With --wrap the timeouts of all stages become one day.
 * STATUS_INPUT: a program was not found; the error has FILE:LINE.
 * STATUS_USAGE: a command of --wrap was not found.
 * Call commands_free afterwards, also after an error. */
enum status commands_make(struct commands *c, const struct pipeline *p,
                          const struct command_settings *settings, struct error *e);
void commands_free(struct commands *c);

/* Appends the command line of one more process of a stage, and increments the count of the
 * stage.  Only a `movable` process can be added, because only such a process binds nothing and
 * connects to its neighbours itself.  STATUS_FAILED: the list is full. */
enum status commands_add(struct commands *c, const struct pipeline *p, struct pipeline_stage *stage,
                         const struct command_settings *settings, struct error *e);

/* Returns the path FOLDER/NAME.KIND of a file of process `name`, such as "stats" or "trace".
 * The caller frees the path with mem_free. */
char *command_file(const char *folder, const char *name, const char *kind);

/* Prints the commands as a shell script; they must have been made with folder "$dir". */
void commands_print(const struct commands *c, FILE *out);

#endif
