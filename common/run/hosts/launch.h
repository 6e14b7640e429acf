/*
 * Both ends of a launcher (ssh, srun).  The end here is launch_*.  The end on another host is
 * bragg-run --remote (remote_serve), which starts one process there, or checks the host.  It reads
 * items from stdin, each of which ends with a NUL:
 *
 *     env NAME=VALUE    for the process; may be repeated
 *     dir PATH          working folder of the process
 *     share C F G F     its CPUs and GPUs, see struct affinity
 *     arg WORD          its command line; may be repeated
 *     run               start the process
 *     signal N          send a signal to its process group, after `run`
 *
 *     program NAME      check that this program exists; may be repeated
 *     file PATH         check that this file exists
 *     port              find one more free tcp port; may be repeated
 *     check             check the items above, and send the answers
 *
 * Answers are lines on stdout that begin with the byte REMOTE_MARK.  All other lines are those of
 * the process.
 *     after `run`:      "run HOST PID", and at the end "ended STATUS"
 *     after `check`:    "version VERSION PHYSICS"
 *                       "host HOST ADDRESS"
 *                       `lacks NAME` for each program that was not found
 *                       "unshared" if the file does not exist
 *                       "port N" for each port, or "trouble TEXT" instead
 *                       "end"; the ports stay bound until stdin ends
 *
 * When stdin ends, because bragg-run was killed or the connection broke, the process and its group
 * are killed, so that the run can continue without it.  The exit status is that of the process, or
 * 128 plus the signal that killed it.
 */
#ifndef BRAGG_RUN_LAUNCH_H
#define BRAGG_RUN_LAUNCH_H

#include <stdbool.h>

#include "base/error.h"
#include "run/hosts/hosts.h"
#include "run/pipeline/commands.h"

/* --- the end here ------------------------------------------------------------ */

/* Checks that the program of the launcher is in PATH.  STATUS_USAGE: it is not. */
enum status launch_check(enum launcher launcher, struct error *e);

/* In a child process: executes the program of the launcher, which runs bragg-run --remote on that
 * host.  `affinity` is passed to srun (NULL: the whole host).  Returns only after an error. */
void launch_exec(const struct hosts *hosts, const struct host *host,
                 const struct affinity *affinity);

/* Further settings of a process, which launch_tell sends to the other end. */
struct launch_orders {
    const char *killed;  // file that lists processes killed from outside
    bool terminal;       // bragg-run shows a progress bar: sets BRAGG_TERMINAL
    bool again;          // the process is restarted: sets BRAGG_AGAIN
};

/* Sends the command line and environment of a process.  If the other end has ended already, returns
 * STATUS_OK, because that end has printed the reason. */
enum status launch_tell(int pipe, const struct command *c, const struct launch_orders *o,
                        struct error *e);

/* Sends one item, "NAME VALUE".  Returns false if it could not be sent. */
bool launch_say(int pipe, const char *name, const char *value);

/* Converts the exit code that the other end reported into a status as from waitpid.  `code`
 * below 0: the connection broke; returns the status of a process that SIGHUP killed. */
int launch_status(int code);

/* --- the end on another host ------------------------------------------------- */

enum {
    REMOTE_MARK = 2,
    REMOTE_KILLED = 128,  // plus the number of the signal: exit status of a killed process
    REMOTE_ITEM_MAX = 1 << 17,
};

/* Runs the end on another host (bragg-run --remote).  Returns after an error or a check.  If a
 * process was started, exits with the status of that process when it ends. */
enum status remote_serve(struct error *e);

#endif
