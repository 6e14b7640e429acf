/*
 * bragg-run --remote: the end of a launcher (ssh, srun) on another host, which starts one process
 * there, or tells what that host has.  It is told on its stdin, in items that each end with a NUL:
 *
 *     env NAME=VALUE    for the process; may be repeated
 *     dir PATH          where it runs
 *     share C F G F     its processors and graphics cards, see share.h
 *     arg WORD          its command line; may be repeated
 *     run               begin
 *     signal N          for its process group, after that
 *
 *     program NAME      is it there?  may be repeated
 *     file PATH         is that file there?
 *     port              one more that is free; may be repeated
 *     check             answer
 *
 * Its answers are lines on stdout that begin with the byte REMOTE_MARK; all other lines are those
 * of the process.  After `run` comes "run HOST PID", and "ended STATUS" at the end.  After `check`
 * come "version VERSION PHYSICS", "host HOST ADDRESS", then "lacks NAME" for each program that is
 * not there, "unshared" if the file is not, "port N" for each, or "trouble TEXT" in place of them,
 * and "end"; the ports are taken until stdin ends.
 *
 * A signal asks the process to end, too.  When stdin ends, because bragg-run was killed or the
 * connection broke, the process and all in its group are killed, so that the run can go on without
 * it.  Its status is that of the process, or 128 and the signal that killed it.
 */
#ifndef BRAGG_RUN_REMOTE_H
#define BRAGG_RUN_REMOTE_H

#include "base/error.h"

enum {
    REMOTE_MARK = 2,
    REMOTE_KILLED = 128,  // and more: the signal
    REMOTE_ITEM_MAX = 1 << 17,
};

/* Returns with the status of an error, or when what it told was a check; else it exits. */
enum status remote_serve(struct error *e);

#endif
