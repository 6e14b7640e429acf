/*
 * bragg-run --remote: the end of a launcher (ssh, srun) on another host.  It starts one process
 * there, or checks the host.  It reads items from stdin, each of which ends with a NUL:
 *
 *     env NAME=VALUE    for the process; may be repeated
 *     dir PATH          working folder of the process
 *     share C F G F     its CPUs and GPUs, see cpu_affinity.h
 *     arg WORD          its command line; may be repeated
 *     run               start the process
 *     signal N          send a signal to its process group, after `run`
 *
 *     program NAME      check that this program exists; may be repeated
 *     file PATH         check that this file exists
 *     port              find one more free tcp port; may be repeated
 *     check             answer
 *
 * Answers are lines on stdout that begin with the byte REMOTE_MARK.  All other lines are those of
 * the process.
 *     after `run`:      "run HOST PID", and at the end "ended STATUS"
 *     after `check`:    "version VERSION PHYSICS"
 *                       "host HOST ADDRESS"
 *                       "lacks NAME" for each program that was not found
 *                       "unshared" if the file does not exist
 *                       "port N" for each port, or "trouble TEXT" instead
 *                       "end"; the ports stay bound until stdin ends
 *
 * When stdin ends, because bragg-run was killed or the connection broke, the process and its group
 * are killed, so that the run can continue without it.  The exit status is that of the process, or
 * 128 plus the signal that killed it.
 */
#ifndef BRAGG_RUN_REMOTE_H
#define BRAGG_RUN_REMOTE_H

#include "base/error.h"

enum {
    REMOTE_MARK = 2,
    REMOTE_KILLED = 128,  // and more: the signal
    REMOTE_ITEM_MAX = 1 << 17,
};

/* Runs this end.  Returns after an error or a check; otherwise exits with the process. */
enum status remote_serve(struct error *e);

#endif
