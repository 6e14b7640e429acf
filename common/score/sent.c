#include "score/sent.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "score/items.h"
#include "score/key_part.h"
#include "score/lines.h"

enum { FRAME, TIME, FATE, FAULT, COLUMNS };
static const char *const names[COLUMNS] = {"frame", "sent_s", "fate", "fault"};
static const char *const fates[SENT_FATES] = {"taken", "some", "dropped", "withheld"};

static enum status read_title(struct lines *l, int at[COLUMNS], struct error *e)
{
    char *words[ITEMS_MAX];
    const int n = lines_next(l) ? items_split(l->line, words) : 0;
    for (int c = 0; c < COLUMNS; c++) {
        at[c] = items_find(words, n, names[c]);
        if (at[c] < 0)
            return error_set(e, STATUS_INPUT,
                             "%s: is no key of bragg-serve --key: names no column %s", l->path,
                             names[c]);
    }
    return STATUS_OK;
}

/* By its columns. */
static enum status read_message(const struct lines *l, const char *const said[COLUMNS],
                                struct sent_message *m, struct error *e)
{
    const char *frame_end, *time_end;
    const intmax_t frame = number_whole(said[FRAME], &frame_end);
    *m = (struct sent_message){.frame = (uint64_t)frame,
                               .time_s = number_real(said[TIME], &time_end)};
    if (*frame_end || frame_end == said[FRAME] || frame < 0 || *time_end ||
        !(m->time_s >= 0.0 && m->time_s < 1e12))
        return lines_fail(l, e, "'%.20s' and '%.30s' are no frame and time", said[FRAME],
                          said[TIME]);
    while (m->fate < SENT_FATES && strcmp(said[FATE], fates[m->fate]) != 0)
        m->fate++;
    if (m->fate == SENT_FATES)
        return lines_fail(l, e, "fate is '%.20s', must be taken, some, dropped or withheld",
                          said[FATE]);
    const size_t length = strcspn(said[FAULT], ":");
    if (strspn(said[FAULT], "abcdefghijklmnopqrstuvwxyz-") != length || length >= SENT_FAULT_SIZE)
        return lines_fail(l, e, "fault is '%.20s', must be the name of one", said[FAULT]);
    memcpy(m->fault, said[FAULT], length);
    return STATUS_OK;
}

/* Lines of the lattices of one message follow one another and have the same time. */
static enum status add_message(struct sent *s, const struct sent_message *m, const char *path,
                               struct error *e)
{
    const struct sent_message *last = s->count ? &s->messages[s->count - 1] : NULL;
    if (last && last->frame == m->frame && last->time_s == m->time_s)
        return STATUS_OK;
    struct sent_message *more = mem_grow(s->messages, s->count, 1, sizeof *more, &s->room);
    if (!more)
        return error_memory(e, path);
    s->messages = more;
    more[s->count++] = *m;
    return STATUS_OK;
}

static enum status read_table(struct lines *l, struct sent *s, struct error *e)
{
    int at[COLUMNS];
    enum status status = read_title(l, at, e);
    while (!status && lines_next(l)) {
        char *words[ITEMS_MAX];
        const char *said[COLUMNS];
        struct sent_message m;
        const int n = items_split(l->line, words);
        for (int c = 0; c < COLUMNS && !status; c++) {
            if (at[c] >= n)
                status = lines_fail(l, e, "has %d items, lacks %s", n, names[c]);
            said[c] = words[at[c] < n ? at[c] : 0];
        }
        status = status ? status : read_message(l, said, &m, e);
        status = status ? status : add_message(s, &m, l->path, e);
    }
    return status;
}

/* Each chunk has a line for each column in its head. */
static enum status read_stream(struct lines *l, struct sent *s, struct error *e)
{
    static const char *const heads[COLUMNS] = {"header/int/frame_id = ", "header/float/sent_s = ",
                                               "header/str/fate = ", "header/str/fault = "};
    enum { ITEM = 64 };
    char items[COLUMNS][ITEM] = {{0}};
    enum status status = STATUS_OK;
    while (!status && lines_next(l)) {
        for (int c = 0; c < COLUMNS; c++)
            if (strncmp(l->line, heads[c], strlen(heads[c])) == 0)
                (void)snprintf(items[c], ITEM, "%s", l->line + strlen(heads[c]));
        if (strcmp(l->line, "----- End chunk -----") != 0)
            continue;
        struct sent_message m;
        const char *const said[COLUMNS] = {items[FRAME], items[TIME], items[FATE], items[FAULT]};
        status = read_message(l, said, &m, e);
        status = status ? status : add_message(s, &m, l->path, e);
        memset(items, 0, sizeof items);
    }
    return status;
}

enum status sent_read(const char *path, struct sent *s, struct error *e)
{
    struct lines l;
    const bool stream = key_stream_is(path);
    enum status status = lines_open(&l, path, stream ? FILETYPE_STREAM : FILETYPE_OTHER, NULL, e);
    if (!status)
        status = stream ? read_stream(&l, s, e) : read_table(&l, s, e);
    if (!status && (l.half_line || ferror(l.in)))
        status = lines_end_early(&l, "a line", e);
    lines_close(&l);
    return status;
}

void sent_free(struct sent *s)
{
    mem_free(s->messages);
    *s = (struct sent){0};
}
