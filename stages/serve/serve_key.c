/* Writes the file of --key.  Rows wait until the gateway reports the fate of their messages. */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/files.h"
#include "io/output/truth.h"
#include "physics/detector/panels.h"

/* Row of the file of --key about one message, in a list of rows. */
struct key_row {
    struct key_row *next;
    uint64_t number;  // number of the message at the gateway, from 0
    struct key_note note;
    char *truth;  // owned: lines of io/truth.h, or a chunk of a stream
};

/* --- the file ------------------------------------------------------------------- */

/* Writes all lines of `text`, each followed by a tab and `more`. */
static void put_lines(FILE *out, const char *text, const char *more)
{
    for (size_t length; *text; text += length + (text[length] == '\n')) {
        length = strcspn(text, "\n");
        fprintf(out, "%.*s\t%s\n", (int)length, text, more);
    }
}

/* Makes the text about a frame (`f` NULL: the text before all frames).  The caller frees *text
 * with free. */
static enum status truth_text(const struct serve_key *k, const struct experiment *x,
                              const struct frame *f, char **text, struct error *e)
{
    size_t size;
    double lab[9];
    *text = NULL;
    enum status s = k->stream && f ? reflections_check(f, k->path, e) : STATUS_OK;
    FILE *out = s ? NULL : open_memstream(text, &size);
    if (!out)
        return s ? s : error_memory(e, "the ground truth of --key");
    panels_frame(x, lab);
    if (k->stream && f)
        reflections_write_chunk(out, x, f, lab);
    else if (k->stream)
        s = reflections_write_preamble(out, x, lab, k->path, e);
    else if (f)
        truth_write(out, x, &f->recipe, lab, "");
    else
        truth_write_title(out, x, "");
    return fclose(out) == 0 ? s : error_memory(e, "the ground truth of --key");
}

/* Writes a chunk of a CrystFEL stream, with the facts about its message.  The facts follow the
 * first line, because that line begins the chunk. */
static void put_chunk(FILE *out, const char *chunk, const struct key_note *n, const char *time,
                      const char *fate)
{
    const size_t first = strcspn(chunk, "\n") + 1;
    fprintf(out, "%.*sheader/float/sent_s = %s\nheader/float/rate_Hz = %.9g\n", (int)first, chunk,
            time, n->rate_hz);
    fprintf(out, "header/str/fate = %s\nheader/str/fault = %s%s%s\n%s", fate, fault_name(n->fault),
            n->field ? ":" : "", n->field ? n->field : "", chunk + first);
}

/* Writes a row to the file.  The caller must hold the mutex. */
static void put_row(struct serve_key *k, const char *truth, const struct key_note *n,
                    const char *fate)
{
    char time[32], more[160];
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(time, sizeof time, "%lld.%06ld", (long long)now.tv_sec, now.tv_nsec / 1000);
    (void)snprintf(more, sizeof more, "%s\t%.9g\t%s\t%s%s%s", time, n->rate_hz, fate,
                   fault_name(n->fault), n->field ? ":" : "", n->field ? n->field : "");
    if (k->stream)
        put_chunk(k->file.stream, truth, n, time, fate);
    else
        put_lines(k->file.stream, truth, more);
}

enum status serve_check_place(const char *path, bool overwrite, struct error *e)
{
    struct stat st;
    const enum status s = target_check(path, e);
    const bool taken = !overwrite && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    return s == STATUS_OK && taken ? replace_refuse(path, e) : s;
}

enum status serve_key_open(struct serve_key *k, const char *path, bool overwrite, struct error *e)
{
    enum status s = serve_check_place(path, overwrite, e);
    if (s == STATUS_OK)
        s = replace_open(&k->file, path, e);
    if (s == STATUS_OK) {
        k->file.guarded = !overwrite;
        k->path = path;
        k->stream = strlen(path) > 7 && strcmp(path + strlen(path) - 7, ".stream") == 0;
        k->end = &k->waiting;
        (void)pthread_mutex_init(&k->mutex, NULL);
    }
    return s;
}

enum status serve_key_begin(struct serve_key *k, const struct experiment *x, struct error *e)
{
    char *title = NULL;
    const enum status s = k->path ? truth_text(k, x, NULL, &title, e) : STATUS_OK;
    if (!s && title && k->stream)
        (void)fputs(title, k->file.stream);
    else if (!s && title)
        put_lines(k->file.stream, title, "sent_s\trate_Hz\tfate\tfault");
    free(title);
    return s;
}

/* --- rows ----------------------------------------------------------------------- */

/* Returns an error if writing to the file has failed, so that the failure is reported at once
 * and not only after the last frame. */
static enum status check_file(struct serve_key *k, struct error *e)
{
    return ferror(k->file.stream)
               ? error_set(e, STATUS_FAILED, "%s: the file cannot be written", k->path)
               : STATUS_OK;
}

void key_row_free(struct key_row *row)
{
    if (row)
        free(row->truth);
    mem_free(row);
}

enum status serve_key_row(const struct serve_key *k, const struct experiment *x,
                          const struct frame *f, const struct key_note *note, struct key_row **row,
                          struct error *e)
{
    *row = k->path ? mem_array(1, sizeof **row) : NULL;
    if (!k->path)
        return STATUS_OK;
    if (!*row)
        return error_memory(e, "the ground truth of --key");
    (*row)->note = *note;
    const enum status s = truth_text(k, x, f, &(*row)->truth, e);
    if (s) {
        key_row_free(*row);
        *row = NULL;
    }
    return s;
}

enum status serve_key_offer(struct serve_key *k, struct key_row *row, struct error *e)
{
    if (!row)
        return STATUS_OK;
    (void)pthread_mutex_lock(&k->mutex);
    row->number = k->offered++;
    *k->end = row;
    k->end = &row->next;
    const enum status s = check_file(k, e);
    (void)pthread_mutex_unlock(&k->mutex);
    return s;
}

enum status serve_key_withhold(struct serve_key *k, struct key_row *row, struct error *e)
{
    if (!row)
        return STATUS_OK;
    (void)pthread_mutex_lock(&k->mutex);
    put_row(k, row->truth, &row->note, "withheld");
    const enum status s = check_file(k, e);
    (void)pthread_mutex_unlock(&k->mutex);
    key_row_free(row);
    return s;
}

void serve_key_passed(void *key, uint64_t number, enum gateway_fate fate)
{
    static const char *const names[] = {
        [GATEWAY_TAKEN] = "taken", [GATEWAY_SOME] = "some", [GATEWAY_DROPPED] = "dropped"};
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
        put_row(k, row->truth, &row->note, names[fate]);
        key_row_free(row);
    }
    (void)pthread_mutex_unlock(&k->mutex);
}

/* --- the end -------------------------------------------------------------------- */

/* Frees the rows of messages whose fate the gateway did not report, and clears *k. */
static void forget_rows(struct serve_key *k)
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
    forget_rows(k);
    return s;
}

void serve_key_close(struct serve_key *k)
{
    if (!k->path)
        return;
    replace_abort(&k->file);
    forget_rows(k);
}
