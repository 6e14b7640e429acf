/* Writes the file of --sent.  Rows wait until the gateway reports the fate of their messages. */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/files.h"
#include "base/log.h"
#include "io/output/truth.h"
#include "physics/detector/detector.h"

/* Row of the file of --sent about one message, in a list of rows. */
struct sent_row {
    struct sent_row *next;
    uint64_t number;  // number of the frame at the gateway, from 0
    struct sent_note note;
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
static enum status truth_text(const struct serve_sent *sent, const struct experiment *x,
                              const struct frame *f, char **text, struct error *e)
{
    size_t size;
    double lab[9];
    *text = NULL;
    enum status s = sent->stream && f ? reflections_check(f, sent->path, e) : STATUS_OK;
    FILE *out = s ? NULL : open_memstream(text, &size);
    if (!out)
        return s ? s : error_memory(e, "the ground truth of --sent");
    panels_frame(x, lab);
    if (sent->stream && f)
        reflections_write_chunk(out, x, f, lab, 0.0);
    else if (sent->stream)
        s = reflections_write_preamble(out, x, lab, sent->path, e);
    else if (f)
        truth_write(out, x, &f->recipe, lab, "");
    else
        truth_write_title(out, x, "");
    return fclose(out) == 0 ? s : error_memory(e, "the ground truth of --sent");
}

/* Writes a chunk of a CrystFEL stream, with the facts about its message.  The facts follow the
 * first line, because that line begins the chunk. */
static void put_chunk(FILE *out, const char *chunk, const struct sent_note *n, const char *time,
                      const char *fate)
{
    const size_t first = strcspn(chunk, "\n") + 1;
    fprintf(out, "%.*sheader/float/sent_s = %s\nheader/float/rate_Hz = %.9g\n", (int)first, chunk,
            time, n->rate_hz);
    fprintf(out, "header/str/fate = %s\nheader/str/fault = %s%s%s\n%s", fate, fault_name(n->fault),
            n->field ? ":" : "", n->field ? n->field : "", chunk + first);
}

/* Writes a row to the file.  The caller must hold the mutex. */
static void put_row(struct serve_sent *sent, const char *truth, const struct sent_note *n,
                    const char *fate)
{
    char time[32], more[160];
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)snprintf(time, sizeof time, "%lld.%06ld", (long long)now.tv_sec, now.tv_nsec / 1000);
    (void)snprintf(more, sizeof more, "%s\t%.9g\t%s\t%s%s%s", time, n->rate_hz, fate,
                   fault_name(n->fault), n->field ? ":" : "", n->field ? n->field : "");
    if (sent->stream)
        put_chunk(sent->file.stream, truth, n, time, fate);
    else
        put_lines(sent->file.stream, truth, more);
}

enum status serve_check_place(const char *path, bool overwrite, struct error *e)
{
    struct stat st;
    const enum status s = target_check(path, e);
    const bool taken = !overwrite && stat(path, &st) == 0 && S_ISREG(st.st_mode);
    return s == STATUS_OK && taken ? replace_refuse(path, e) : s;
}

enum status serve_sent_open(struct serve_sent *sent, const char *path, bool overwrite,
                            struct error *e)
{
    enum status s = serve_check_place(path, overwrite, e);
    if (s == STATUS_OK)
        s = replace_open(&sent->file, path, e);
    if (s == STATUS_OK) {
        sent->file.guarded = !overwrite;
        sent->path = path;
        sent->stream = strlen(path) > 7 && strcmp(path + strlen(path) - 7, ".stream") == 0;
        sent->end = &sent->waiting;
        (void)pthread_mutex_init(&sent->mutex, NULL);
        if (getenv(LOG_AGAIN))  // the rows of the process that died are lost
            log_line(LOG_WARNING,
                     "%s: messages before the restart of bragg-serve are missing in this file",
                     path);
    }
    return s;
}

enum status serve_sent_begin(struct serve_sent *sent, const struct experiment *x, struct error *e)
{
    char *title = NULL;
    const enum status s = sent->path ? truth_text(sent, x, NULL, &title, e) : STATUS_OK;
    if (!s && title && sent->stream)
        (void)fputs(title, sent->file.stream);
    else if (!s && title)
        put_lines(sent->file.stream, title, "sent_s\trate_Hz\tfate\tfault");
    free(title);
    return s;
}

/* --- rows ----------------------------------------------------------------------- */

/* Returns an error if writing to the file has failed, so that the failure is reported at once
 * and not only after the last frame. */
static enum status check_file(struct serve_sent *sent, struct error *e)
{
    return ferror(sent->file.stream)
               ? error_set(e, STATUS_FAILED, "%s: the file cannot be written", sent->path)
               : STATUS_OK;
}

void sent_row_free(struct sent_row *row)
{
    while (row) {
        struct sent_row *next = row->next;
        free(row->truth);
        mem_free(row);
        row = next;
    }
}

void sent_row_append(struct sent_row **rows, struct sent_row *row)
{
    while (*rows)
        rows = &(*rows)->next;
    *rows = row;
}

enum status serve_sent_row(const struct serve_sent *sent, const struct experiment *x,
                           const struct frame *f, const struct sent_note *note,
                           struct sent_row **row, struct error *e)
{
    *row = sent->path ? mem_array(1, sizeof **row) : NULL;
    if (!sent->path)
        return STATUS_OK;
    (*row)->note = *note;
    const enum status s = truth_text(sent, x, f, &(*row)->truth, e);
    if (s) {
        sent_row_free(*row);
        *row = NULL;
    }
    return s;
}

enum status serve_sent_offer(struct serve_sent *sent, struct sent_row *row, struct error *e)
{
    const bool any = row;
    if (!sent->path)
        return STATUS_OK;
    (void)pthread_mutex_lock(&sent->mutex);
    *sent->end = row;
    for (; row; row = row->next) {
        row->number = sent->offered++;
        sent->end = &row->next;
    }
    sent->offered += !any;
    const enum status s = check_file(sent, e);
    (void)pthread_mutex_unlock(&sent->mutex);
    return s;
}

enum status serve_sent_withhold(struct serve_sent *sent, struct sent_row *row, struct error *e)
{
    if (!row)
        return STATUS_OK;
    (void)pthread_mutex_lock(&sent->mutex);
    put_row(sent, row->truth, &row->note, "withheld");
    const enum status s = check_file(sent, e);
    (void)pthread_mutex_unlock(&sent->mutex);
    sent_row_free(row);
    return s;
}

void serve_sent_passed(void *owner, uint64_t number, enum gateway_fate fate)
{
    static const char *const names[] = {
        [GATEWAY_TAKEN] = "taken", [GATEWAY_SOME] = "some", [GATEWAY_DROPPED] = "dropped"};
    struct serve_sent *sent = owner;
    (void)pthread_mutex_lock(&sent->mutex);
    struct sent_row **at = &sent->waiting;
    while (*at && (*at)->number != number)
        at = &(*at)->next;
    struct sent_row *row = *at;
    if (row) {
        *at = row->next;
        if (sent->end == &row->next)
            sent->end = at;
        put_row(sent, row->truth, &row->note, names[fate]);
        row->next = NULL;
        sent_row_free(row);
    }
    (void)pthread_mutex_unlock(&sent->mutex);
}

/* --- the end -------------------------------------------------------------------- */

/* Frees the rows of messages whose fate the gateway did not report, and clears *sent. */
static void forget_rows(struct serve_sent *sent)
{
    sent_row_free(sent->waiting);
    (void)pthread_mutex_destroy(&sent->mutex);
    *sent = (struct serve_sent){0};
}

enum status serve_sent_commit(struct serve_sent *sent, struct error *e)
{
    if (!sent->path)
        return STATUS_OK;
    const enum status s = replace_commit(&sent->file, e);
    forget_rows(sent);
    return s;
}

void serve_sent_close(struct serve_sent *sent)
{
    if (!sent->path)
        return;
    replace_abort(&sent->file);
    forget_rows(sent);
}
