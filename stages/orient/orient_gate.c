/*
 * Exposures and positions that are known only when a frame begins: a file to which another program
 * appends one line per frame.  A virtual detector, for example, learns from its trigger how long it
 * counts, and where the motors of the sample holder are.
 */
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "orient.h"

static const double FACTOR_MIN = 1e-6, FACTOR_MAX = 1e6, PLACE_MAX_UM = 1e6, ANGLE_MAX_DEG = 1e9;
static const struct timespec LOOK = {.tv_nsec = 2000000};
static const uint64_t NOTICE_NS = 10000000000;

enum { LINE_SIZE = 160, NUMBERS_MAX = 5 };

struct gate {
    FILE *file;
    const char *path;
    struct gate_line *lines;  // owned: those that are complete
    size_t count, room;
    char line[LINE_SIZE];  // begin of a line that is not complete
    size_t length;
    bool noticed;
    atomic_bool cancelled;
};

enum status gate_open(struct gate **gate, const char *path, struct error *e)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return error_errno(e, STATUS_FAILED, "%.400s: cannot open the file", path);
    *gate = mem_array(1, sizeof **gate);
    (*gate)->file = file;
    (*gate)->path = path;
    return STATUS_OK;
}

/* Reads the numbers of a line, with one space between them.  Returns how many there are; -1: the
 * line has anything else. */
static int read_numbers(const char *text, double numbers[NUMBERS_MAX])
{
    for (int n = 0; n < NUMBERS_MAX; n++) {
        const char *end;
        numbers[n] = number_real(text, &end);
        if (end == text || (*end && *end != ' '))
            return -1;
        if (!*end)
            return n + 1;
        text = end + 1;
    }
    return -1;
}

/* Adds the line that is complete. */
static enum status take_line(struct gate *g, struct error *e)
{
    double v[NUMBERS_MAX] = {0};
    g->line[g->length] = '\0';
    g->length = 0;
    const int n = read_numbers(g->line, v);
    if (n < 1 || n == 2 || !(v[0] >= FACTOR_MIN && v[0] <= FACTOR_MAX) ||
        !(fabs(v[1]) <= PLACE_MAX_UM && fabs(v[2]) <= PLACE_MAX_UM) ||
        !(fabs(v[3]) <= ANGLE_MAX_DEG && fabs(v[4]) <= PLACE_MAX_UM))
        return error_set(e, STATUS_INPUT,
                         "%.400s:%zu: the line is not a factor on the fluence (got '%s'); expected "
                         "a number from %g to %g, and after it a place in um, an angle in "
                         "degrees and a place along the beam in um, if the sample moves",
                         g->path, g->count + 1, g->line, FACTOR_MIN, FACTOR_MAX);
    g->lines = mem_grow(g->lines, g->count, 1, sizeof *g->lines, &g->room);
    g->lines[g->count++] = (struct gate_line){.fluence = v[0],
                                              .moves = n >= 3,
                                              .rotates = n >= 4,
                                              .at_m = {v[1] * 1e-6, v[2] * 1e-6},
                                              .phi_deg = v[3],
                                              .along_m = v[4] * 1e-6};
    return STATUS_OK;
}

/* Reads what the other program has appended. */
static enum status read_lines(struct gate *g, struct error *e)
{
    int c;
    clearerr(g->file);
    while ((c = getc(g->file)) != EOF) {
        enum status s = STATUS_OK;
        if (c == '\n')
            s = take_line(g, e);
        else if (g->length < LINE_SIZE - 1)
            g->line[g->length++] = (char)c;
        else
            s = error_set(e, STATUS_INPUT,
                          "%.400s:%zu: the line is too long; expected at most 5 numbers", g->path,
                          g->count + 1);
        if (s)
            return s;
    }
    return ferror(g->file) ? error_errno(e, STATUS_FAILED, "%.400s: cannot read the file", g->path)
                           : STATUS_OK;
}

/* Reports, once, that a frame waits long for its line. */
static void notice_wait(struct gate *g, uint64_t id, uint64_t since_ns)
{
    if (g->noticed || clock_ns() - since_ns < NOTICE_NS)
        return;
    g->noticed = true;
    log_line(LOG_NOTICE, "frame %" PRIu64 " waits for line %" PRIu64 " of %.400s, which has %zu",
             id, id + 1, g->path, g->count);
}

enum status gate_await(struct gate *gate, uint64_t id, bool holder, bool along,
                       struct gate_line *line, struct error *e)
{
    const uint64_t since_ns = clock_ns();
    for (;;) {
        const enum status s = read_lines(gate, e);
        if (s)
            return s;
        if (id < gate->count)
            break;
        if (atomic_load(&gate->cancelled))
            return STATUS_FAILED;
        notice_wait(gate, id, since_ns);
        (void)nanosleep(&LOOK, NULL);
    }
    *line = gate->lines[id];
    if (line->along_m != 0.0 && !along)
        return error_set(e, STATUS_INPUT,
                         "%.400s:%" PRIu64
                         ": the line has a place along the beam (got %g um); expected 0. Give "
                         "--gate-z",
                         gate->path, id + 1, 1e6 * line->along_m);
    if (holder || (line->at_m[0] == 0.0 && line->at_m[1] == 0.0))
        return STATUS_OK;
    return error_set(e, STATUS_INPUT,
                     "%.400s:%" PRIu64
                     ": the line has a place, but there is no sample holder. Give "
                     "--crystals-at",
                     gate->path, id + 1);
}

void gate_cancel(struct gate *gate)
{
    if (gate)
        atomic_store(&gate->cancelled, true);
}

void gate_close(struct gate *gate)
{
    if (!gate)
        return;
    (void)fclose(gate->file);
    mem_free(gate->lines);
    mem_free(gate);
}
