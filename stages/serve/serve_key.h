/* The file of --key: the ground truth of each frame that was sent, and the fate of its message. The
 * file is a table.  If its name ends in .stream, it is a CrystFEL stream with reflections. */
#ifndef BRAGG_STAGES_SERVE_KEY_H
#define BRAGG_STAGES_SERVE_KEY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "gateway/fault_injection.h"
#include "gateway/gateway.h"
#include "io/output/replace.h"
#include "model/experiment.h"
#include "model/frame.h"

/* The facts about a message before it is offered. */
struct key_note {
    double rate_hz;  // requested rate at that time; 0 without a rate
    enum fault fault;
    const char
        *field;  // FAULT_HEADER: the key of the damaged value, which outlives the run; else NULL
};

struct key_row;

struct serve_key {
    const char *path;  // borrowed; NULL if no file is written
    bool stream;
    struct replace file;
    uint64_t offered;         // rows that were offered so far
    struct key_row *waiting;  // owned: offered rows whose fate is not known, the oldest first
    struct key_row **end;
    pthread_mutex_t mutex;  // of the waiting rows and of the file
};

/* Opens the file.  `path` must outlive *k.  STATUS_FAILED if another file has the name and
 * `overwrite` is false, or if the folder cannot be written.  The caller ends *k with
 * serve_key_commit or serve_key_close. */
enum status serve_key_open(struct serve_key *k, const char *path, bool overwrite, struct error *e);

/* Writes the text before all frames: the names of the columns, or the preamble of a stream. Without
 * a file the function does nothing.  STATUS_FAILED when memory is out. */
enum status serve_key_begin(struct serve_key *k, const struct experiment *x, struct error *e);

/* Makes *row, the row about a message of a frame, which the caller owns.  *row is NULL without a
 * file.  STATUS_INPUT if a stream is written and the frame has no reflections, STATUS_FAILED when
 * memory is out. */
enum status serve_key_row(const struct serve_key *k, const struct experiment *x,
                          const struct frame *f, const struct key_note *note, struct key_row **row,
                          struct error *e);
void key_row_free(struct key_row *row);

/* Takes ownership of the row of the message that is offered to the gateway next.  The gateway then
 * calls serve_key_passed.  A row of NULL is allowed.  STATUS_FAILED if the file cannot be written.
 */
enum status serve_key_offer(struct serve_key *k, struct key_row *row, struct error *e);

/* Takes ownership of the row of a message that is not offered, and writes it at once.  A row of
 * NULL is allowed.  STATUS_FAILED if the file cannot be written. */
enum status serve_key_withhold(struct serve_key *k, struct key_row *row, struct error *e);

/* Writes the row of a message whose fate is known.  For gateway_settings.passed. */
void serve_key_passed(void *key, uint64_t number, enum gateway_fate fate);

/* Gives the complete file its name, and frees all memory.  STATUS_FAILED if the file cannot be
 * written. */
enum status serve_key_commit(struct serve_key *k, struct error *e);

/* Frees all memory, and removes a file that was not committed. */
void serve_key_close(struct serve_key *k);

#endif
