/* The key to what was sent: the truth about each frame and what became of it, as a table, or, in a
 * file whose name ends in .stream, with reflections as a stream. */
#ifndef BRAGG_STAGES_SERVE_KEY_H
#define BRAGG_STAGES_SERVE_KEY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/gateway.h"
#include "gateway/spoil.h"
#include "io/output/replace.h"
#include "model/experiment.h"
#include "model/frame.h"

/* What is known of a message before it is offered. */
struct key_note {
    double rate_hz;  // asked for at that time; 0: none
    enum fault fault;
    const char *field;  // FAULT_HEADER: the value that was damaged, which lasts; else NULL
};

struct key_row;

struct serve_key {
    const char *path;  // borrowed; NULL: no key is kept
    bool stream;
    struct replace file;
    uint64_t offered;         // rows so far that have a number of the gateway
    struct key_row *waiting;  // owned, those that were offered, the oldest first
    struct key_row **end;
    pthread_mutex_t mutex;  // of what waits, and of the file
};

/* Checks the place for it: STATUS_FAILED for another file there, unless `overwrite`, and for a
 * folder where none can be written.  Followed by serve_key_close. */
enum status serve_key_open(struct serve_key *k, const char *path, bool overwrite, struct error *e);

/* The first line, which names the columns, once the experiment is there; nothing without a key.
 * STATUS_FAILED when memory is out. */
enum status serve_key_begin(struct serve_key *k, const struct experiment *x, struct error *e);

/* A row about a message of a frame, into *row; NULL without a key.  STATUS_INPUT for a stream and a
 * frame without reflections, STATUS_FAILED when memory is out. */
enum status serve_key_row(const struct serve_key *k, const struct experiment *x,
                          const struct frame *f, const struct key_note *note, struct key_row **row,
                          struct error *e);
void key_row_free(struct key_row *row);

/* Takes over the row of what is offered to the gateway next, which then calls serve_key_passed.
 * Nothing for NULL.  STATUS_FAILED when the file cannot be written. */
enum status serve_key_offer(struct serve_key *k, struct key_row *row, struct error *e);

/* Likewise of a message that is not offered: the row is written at once. */
enum status serve_key_withhold(struct serve_key *k, struct key_row *row, struct error *e);

/* For gateway_settings.passed: its row is written. */
void serve_key_passed(void *key, uint64_t number, enum gateway_fate fate);

/* The file gets its name.  STATUS_FAILED when it cannot be written. */
enum status serve_key_commit(struct serve_key *k, struct error *e);

/* Frees all, and drops a file that was not committed. */
void serve_key_close(struct serve_key *k);

#endif
