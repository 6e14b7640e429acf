#include "serve_key.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "io/truth.h"
#include "serve_files.h"

struct key_row {
    struct key_row *next;
    uint64_t number;  // as the gateway counts
    struct key_note note;
    char *truth;  // lines of truth.h, of the heap
};

/* --- the file ------------------------------------------------------------------- */

/* All lines of `text`, each with `more` behind it. */
static void put_lines(FILE *out, const char *text, const char *more)
{
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        fprintf(out, "%.*s\t%s\n", (int)length, text, more);
    }
}

static char *truth_text(const struct experiment *x, const struct recipe *r)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    if (r)
        truth_write(out, x, r);
    else
        truth_write_title(out, x);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* Under the mutex. */
static void put_row(struct serve_key *k, const char *truth, const struct key_note *n,
                    const char *fate)
{
    char more[160];
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(more, sizeof more, "%lld.%06ld\t%.9g\t%s\t%s%s%s", (long long)now.tv_sec,
                   now.tv_nsec / 1000, n->rate_hz, fate, fault_name(n->fault), n->field ? ":" : "",
                   n->field ? n->field : "");
    put_lines(k->file.stream, truth, more);
}

enum status serve_key_open(struct serve_key *k, const char *path, bool overwrite, struct error *e)
{
    enum status s = serve_check_place(path, overwrite, e);
    if (s == STATUS_OK)
        s = replace_open(&k->file, path, e);
    if (s == STATUS_OK) {
        k->file.guarded = !overwrite;
        k->path = path;
        k->end = &k->waiting;
        (void)pthread_mutex_init(&k->mutex, NULL);
    }
    return s;
}

enum status serve_key_begin(struct serve_key *k, const struct experiment *x, struct error *e)
{
    char *title = k->path ? truth_text(x, NULL) : NULL;
    if (k->path && !title)
        return error_memory(e, "the key");
    if (title)
        put_lines(k->file.stream, title, "sent_s\trate_Hz\tfate\tfault");
    free(title);
    return STATUS_OK;
}

/* --- rows ----------------------------------------------------------------------- */

/* What cannot be written is said at once, not after the last frame. */
static enum status check(struct serve_key *k, struct error *e)
{
    return ferror(k->file.stream) ? error_set(e, STATUS_FAILED, "%s: cannot write it", k->path)
                                  : STATUS_OK;
}

void key_row_free(struct key_row *row)
{
    if (row)
        free(row->truth);
    mem_free(row);
}

enum status serve_key_row(const struct serve_key *k, const struct experiment *x,
                          const struct recipe *r, const struct key_note *note, struct key_row **row,
                          struct error *e)
{
    *row = k->path ? mem_array(1, sizeof **row) : NULL;
    if (!k->path)
        return STATUS_OK;
    if (*row) {
        (*row)->note = *note;
        (*row)->truth = truth_text(x, r);
    }
    if (*row && (*row)->truth)
        return STATUS_OK;
    key_row_free(*row);
    *row = NULL;
    return error_memory(e, "the key");
}

enum status serve_key_offer(struct serve_key *k, struct key_row *row, struct error *e)
{
    if (!row)
        return STATUS_OK;
    (void)pthread_mutex_lock(&k->mutex);
    row->number = k->offered++;
    *k->end = row;
    k->end = &row->next;
    const enum status s = check(k, e);
    (void)pthread_mutex_unlock(&k->mutex);
    return s;
}

enum status serve_key_withhold(struct serve_key *k, struct key_row *row, struct error *e)
{
    if (!row)
        return STATUS_OK;
    (void)pthread_mutex_lock(&k->mutex);
    put_row(k, row->truth, &row->note, "withheld");
    const enum status s = check(k, e);
    (void)pthread_mutex_unlock(&k->mutex);
    key_row_free(row);
    return s;
}

void serve_key_passed(void *key, uint64_t number, bool taken)
{
    struct serve_key *k = key;
    (void)pthread_mutex_lock(&k->mutex);
    struct key_row **at = &k->waiting;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct key_row *row = *at;
    if (row) {
        *at = row->next;
        if (k->end == &row->next)
            k->end = at;
        put_row(k, row->truth, &row->note, taken ? "taken" : "dropped");
        key_row_free(row);
    }
    (void)pthread_mutex_unlock(&k->mutex);
}

/* --- the end -------------------------------------------------------------------- */

/* Forgets it, and the rows of what the gateway never told. */
static void forget(struct serve_key *k)
{
    while (k->waiting) {
        struct key_row *row = k->waiting;
        k->waiting = row->next;
        key_row_free(row);
    }
    (void)pthread_mutex_destroy(&k->mutex);
    *k = (struct serve_key){0};
}

enum status serve_key_commit(struct serve_key *k, struct error *e)
{
    if (!k->path)
        return STATUS_OK;
    const enum status s = replace_commit(&k->file, e);
    forget(k);
    return s;
}

void serve_key_close(struct serve_key *k)
{
    if (!k->path)
        return;
    replace_abort(&k->file);
    forget(k);
}
