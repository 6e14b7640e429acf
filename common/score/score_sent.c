/* Metrics about messages: latency, lost frames, and the reaction of the analysis to faults. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"
#include "score/lines.h"
#include "score/score.h"
#include "score/truth.h"

enum { KINDS_MAX = 32, GROUP_NAME = 48 };

/* A kind of fault, with the number of its messages and what happened to them. */
struct kind {
    const char *name;
    size_t n, answered, again, wrong, reported, died;
};

/* Counts over all messages. */
struct tally {
    size_t fates[SENT_FATES];
    size_t by_sender, by_client;  // frames without an answer that were lost by the sender or by the
                                  // client
    size_t by_either;             // lost frames that only some clients took, perhaps not the one
                                  // that writes the results
    size_t false_alarms;          // messages without a fault that the analysis reported as corrupt
    uint64_t last_frame;          // frame of the message that a client took before it stopped to
                                  // answer
    size_t nkinds;
    struct kind kinds[KINDS_MAX];
    struct values latency_s;
};

static struct kind *find_kind(struct tally *t, const char *name)
{
    for (size_t i = 0; i < t->nkinds; i++)
        if (strcmp(t->kinds[i].name, name) == 0)
            return &t->kinds[i];
    if (t->nkinds == KINDS_MAX)
        return NULL;
    t->kinds[t->nkinds] = (struct kind){.name = name};
    return &t->kinds[t->nkinds++];
}

static bool is_good(const struct sent_message *m)
{
    return strcmp(m->fault, "-") == 0;
}

static void count_fault(struct tally *t, const struct sent_message *m, const struct score_frame *f)
{
    struct kind *k = is_good(m) ? NULL : find_kind(t, m->fault);
    if (!k)
        return;
    k->n++;
    k->answered += f->answered;
    k->again += f->again > 0;
    k->wrong += f->answered && f->wrong && !f->reported;
    k->reported += f->reported;
}

/* Finds the fault that ended a client: the first message that it took after its last answer has a
 * fault, and at least SILENCE good messages follow it without an answer. */
static void count_death(const struct score *s, const struct sent_messages *sent, struct tally *t)
{
    enum { SILENCE = 3 };
    const struct sent_message *fault = NULL;
    size_t silent = 0;
    for (size_t i = 0; i < sent->count; i++) {
        const struct sent_message *m = &sent->messages[i];
        int64_t at;
        struct error ignored;
        if (truth_number(s->truth, m->frame, NULL, &at, &ignored) || at < 0)
            continue;
        if (s->frames[at].answered) {
            fault = NULL;
            silent = 0;
        } else if (!silent && !fault && !is_good(m) && m->fate == SENT_TAKEN)
            fault = m;
        else if (is_good(m))
            silent++;
    }
    struct kind *k = fault && silent >= SILENCE ? find_kind(t, fault->fault) : NULL;
    if (!k)
        return;
    k->died = 1;
    t->last_frame = fault->frame;
}

/* Bit mask of the fates of messages that a client took. */
enum { REACHED = 1u << SENT_TAKEN | 1u << SENT_SOME };

/* Counts messages.  The latency of a frame is measured from its first message that a client took.
 */
static enum status count_messages(const struct score *s, const struct sent_messages *sent,
                                  uint8_t *taken, struct tally *t, struct error *e)
{
    for (size_t i = 0; i < sent->count; i++) {
        const struct sent_message *m = &sent->messages[i];
        int64_t at;
        if (truth_number(s->truth, m->frame, NULL, &at, e))
            return e->status;
        if (at < 0)
            return error_set(e, STATUS_INPUT,
                             "--sent: frame %llu is not in %s; expected the file that bragg-serve "
                             "--sent wrote for these frames",
                             (unsigned long long)m->frame, s->truth->path);
        const struct score_frame *f = &s->frames[at];
        t->false_alarms += is_good(m) && f->reported;
        t->fates[m->fate]++;
        count_fault(t, m, f);
        const bool first = (1u << m->fate & REACHED) && !(taken[at] & REACHED);
        taken[at] = (uint8_t)(taken[at] | 1u << m->fate);
        if (first && f->result_s > 0.0)
            values_add(&t->latency_s, f->result_s - m->time_s);
    }
    return STATUS_OK;
}

static void count_lost(const struct score *s, const uint8_t *fates, struct tally *t)
{
    for (size_t i = 0; i < s->truth->rows.nframes; i++) {
        const bool lost = !s->frames[i].answered;
        t->by_client += lost && fates[i] & 1u << SENT_TAKEN;
        t->by_either += lost && (fates[i] & REACHED) == 1u << SENT_SOME;
        t->by_sender += lost && fates[i] && !(fates[i] & REACHED);
    }
}

static void add_kind(const struct tally *t, const struct kind *k, struct figures *f)
{
    static const char *const names[] = {"n",     "answered", "ignored", "twice",
                                        "wrong", "reported", "died"};
    const size_t counts[] = {k->n,        k->answered, k->n - k->answered, k->again, k->wrong,
                             k->reported, k->died};
    if (k->died)
        figures_note(
            f, "a client died of the fault %s in frame %" PRIu64 ": no later frame has a result",
            k->name, t->last_frame);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char name[FIGURE_NAME];
        (void)snprintf(name, sizeof name, "faults.%s.%s", k->name, names[i]);
        figures_add(f, name, (double)counts[i], NULL);
    }
}

static void add_figures(struct tally *t, double nameless, struct figures *f)
{
    static const char *const why = "no result contains its time";
    figures_add(f, "latency_s.median", values_percentile(&t->latency_s, 50.0), why);
    figures_add(f, "latency_s.p95", values_percentile(&t->latency_s, 95.0), why);
    figures_add(f, "latency_s.max", values_percentile(&t->latency_s, 100.0), why);
    figures_add(f, "latency_s.n", (double)t->latency_s.n, NULL);
    figures_add(f, "sent.taken", (double)t->fates[SENT_TAKEN], NULL);
    figures_add(f, "sent.some", (double)t->fates[SENT_SOME], NULL);
    figures_add(f, "sent.dropped", (double)t->fates[SENT_DROPPED], NULL);
    figures_add(f, "sent.withheld", (double)t->fates[SENT_WITHHELD], NULL);
    figures_add(f, "answers_without_frame", nameless, NULL);
    figures_add(f, "answers_false_alarm", (double)t->false_alarms, NULL);
    figures_add(f, "lost.by_sender", (double)t->by_sender, NULL);
    figures_add(f, "lost.by_client", (double)t->by_client, NULL);
    figures_add(f, "lost.by_either", (double)t->by_either, NULL);
    for (size_t i = 0; i < t->nkinds; i++)
        add_kind(t, &t->kinds[i], f);
}

enum status score_sent_figures(const struct score *s, const struct sent_messages *sent,
                               struct figures *f, struct error *e)
{
    struct tally t = {0};
    uint8_t *fates = mem_array(s->truth->rows.nframes, 1);
    const enum status status = count_messages(s, sent, fates, &t, e);
    if (!status) {
        count_lost(s, fates, &t);
        count_death(s, sent, &t);
        add_figures(&t, (double)s->nnameless, f);
    }
    mem_free(fates);
    values_free(&t.latency_s);
    return status;
}

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
                             "%s: not a table of bragg-serve --sent: column %s is missing", l->path,
                             names[c]);
    }
    return STATUS_OK;
}

/* Reads a message from the texts of its columns. */
static enum status read_message(const struct lines *l, const char *const said[COLUMNS],
                                struct sent_message *m, struct error *e)
{
    const char *frame_end, *time_end;
    const intmax_t frame = number_whole(said[FRAME], &frame_end);
    *m = (struct sent_message){.frame = (uint64_t)frame,
                               .time_s = number_real(said[TIME], &time_end)};
    if (*frame_end || frame_end == said[FRAME] || frame < 0 || *time_end ||
        !(m->time_s >= 0.0 && m->time_s < 1e12))
        return lines_fail(l, e, "'%.20s' and '%.30s' are not a frame and a time", said[FRAME],
                          said[TIME]);
    while (m->fate < SENT_FATES && strcmp(said[FATE], fates[m->fate]) != 0)
        m->fate++;
    if (m->fate == SENT_FATES)
        return lines_fail(l, e, "fate is '%.20s'; expected taken, some, dropped or withheld",
                          said[FATE]);
    const size_t length = strcspn(said[FAULT], ":");
    if (strspn(said[FAULT], "abcdefghijklmnopqrstuvwxyz-") != length || length >= SENT_FAULT_SIZE)
        return lines_fail(l, e, "fault is '%.20s'; expected the name of a fault", said[FAULT]);
    memcpy(m->fault, said[FAULT], length);
    return STATUS_OK;
}

/* Adds a message.  Lines with the lattices of one message follow each other and have the same time,
 * and are counted once. */
static void add_message(struct sent_messages *s, const struct sent_message *m)
{
    const struct sent_message *last = s->count ? &s->messages[s->count - 1] : NULL;
    if (last && last->frame == m->frame && last->time_s == m->time_s)
        return;
    s->messages = mem_grow(s->messages, s->count, 1, sizeof *s->messages, &s->room);
    s->messages[s->count++] = *m;
}

static enum status read_table(struct lines *l, struct sent_messages *s, struct error *e)
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
                status = lines_fail(l, e, "has %d items; %s is missing", n, names[c]);
            said[c] = words[at[c] < n ? at[c] : 0];
        }
        status = status ? status : read_message(l, said, &m, e);
        if (!status)
            add_message(s, &m);
    }
    return status;
}

/* Reads a stream.  The head of each chunk has a line for each column. */
static enum status read_stream(struct lines *l, struct sent_messages *s, struct error *e)
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
        if (!status)
            add_message(s, &m);
        memset(items, 0, sizeof items);
    }
    return status;
}

enum status sent_read(const char *path, struct sent_messages *s, struct error *e)
{
    struct lines l;
    const bool stream = truth_stream_is(path);
    enum status status = lines_open(&l, path, stream ? FILETYPE_STREAM : FILETYPE_SENT, NULL, e);
    if (!status)
        status = stream ? read_stream(&l, s, e) : read_table(&l, s, e);
    if (!status && (l.half_line || ferror(l.in)))
        status = lines_end_early(&l, "a line", e);
    lines_close(&l);
    return status;
}

void sent_free(struct sent_messages *s)
{
    mem_free(s->messages);
    *s = (struct sent_messages){0};
}
