/* Derives rates, fractions of time and the bottleneck from status messages, prints and draws them.
 */
#include "run/display/view.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"

/* Least fraction of its time for which a bottleneck is working. */
static const double BOTTLENECK_SHARE = 0.5;
enum { FRAMES_FOR_RATE = 10 };

/* Fractions are not shown for a younger process: the CPU time of its start would be divided by too
 * short a time. */
static const uint64_t LEAST_NS = 300000000;

const struct run_status *view_latest(const struct view *v)
{
    return v->count ? &v->statuses[v->count - 1] : NULL;
}

void view_clear(struct view *v)
{
    for (size_t i = 0; i < v->count; i++)
        run_status_free(&v->statuses[i]);
    v->count = v->nrows = 0;
}

/* Returns the number of connections without a valid key that all processes have refused. */
static uint64_t view_refused(const struct view *v)
{
    const struct run_status *r = view_latest(v);
    uint64_t sum = 0;
    for (size_t i = 0; r && i < r->nprocesses; i++)
        sum += r->processes[i].work.refused;
    return sum;
}

/* --- one status ---------------------------------------------------------------- */

/* Replaces control characters in a name by question marks: the name comes from another process,
 * and could change the terminal. */
static void make_printable(char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text == 0x7f)
            *text = '?';
}

/* Returns the work of a process in the oldest status that contains the process.  The caller
 * subtracts it to get the work since that status.  Returns zeros if no earlier status contains
 * the process. */
static struct work work_before(const struct view *v, const struct process_status *p)
{
    for (size_t i = 0; i + 1 < v->count; i++)
        for (size_t k = 0; k < v->statuses[i].nprocesses; k++) {
            const struct process_status *old = &v->statuses[i].processes[k];
            if (old->pid == p->pid && strcmp(old->host, p->host) == 0 &&
                strcmp(old->stage, p->stage) == 0 && old->work.time_ns < p->work.time_ns)
                return old->work;
        }
    return (struct work){0};
}

static struct view_row row_of(const struct view *v, const struct process_status *p)
{
    const struct work then = work_before(v, p), *now = &p->work;
    const double ns = (double)(now->time_ns - then.time_ns);
    struct view_row row = {.process = p, .processes = 1, .frames = now->frames, .held = p->held};
    if (now->time_ns < LEAST_NS || ns <= 0)
        return row;
    row.tells = true;
    row.compute = (double)(now->compute_ns + now->codec_ns - then.compute_ns - then.codec_ns) / ns;
    row.input = (double)(now->wait_in_ns - then.wait_in_ns) / ns;
    row.output = (double)(now->wait_out_ns - then.wait_out_ns) / ns;
    row.cpus = (double)(now->cpu_ns - then.cpu_ns) / ns;
    row.in_mb_s = (double)(now->bytes_in - then.bytes_in) * 1e3 / ns;
    row.out_mb_s = (double)(now->bytes_out - then.bytes_out) * 1e3 / ns;
    return row;
}

static bool same_stage(const struct process_status *a, const struct process_status *b)
{
    return strcmp(a->stage, b->stage) == 0 && strcmp(a->group, b->group) == 0;
}

/* Adds the row of another process of the stage to *row.  Fractions become means, and other
 * numbers become sums. */
static void merge(struct view_row *row, const struct view_row *more)
{
    const double old = row->tells ? row->processes : 0, new = more->tells, all = old + new;
    row->processes++;
    row->frames += more->frames;
    row->held += more->held;
    if (all <= 0.0)
        return;
    row->tells = true;
    row->compute = (row->compute * old + more->compute * new) / all;
    row->input = (row->input * old + more->input * new) / all;
    row->output = (row->output * old + more->output * new) / all;
    row->cpus += more->cpus;
    row->in_mb_s += more->in_mb_s;
    row->out_mb_s += more->out_mb_s;
}

/* --- several statuses ---------------------------------------------------------- */

/* Marks the rows of the busiest stage, for which the other stages wait.  Marks no row if no
 * stage is busy for more than BOTTLENECK_SHARE of its time. */
static void mark_bottleneck(struct view *v)
{
    const struct process_status *slowest = NULL;
    double most = BOTTLENECK_SHARE;
    for (size_t i = 0, end; i < v->nrows; i = end) {
        double sum = 0, processes = 0;
        for (end = i; end < v->nrows && same_stage(v->rows[i].process, v->rows[end].process);
             end++) {
            sum += v->rows[end].compute * v->rows[end].processes;
            processes += v->rows[end].processes;
        }
        if (sum / processes > most) {
            most = sum / processes;
            slowest = v->rows[i].process;
        }
    }
    for (size_t i = 0; i < v->nrows; i++)
        v->rows[i].bottleneck = slowest && same_stage(v->rows[i].process, slowest);
}

static void find_rate(struct view *v)
{
    const struct run_status *now = view_latest(v);
    struct run_status then = v->statuses[0];
    if (now->acknowledged < then.acknowledged + FRAMES_FOR_RATE)
        then = (struct run_status){0};  // too few frames: use the mean rate since the start
    const double s = (double)(now->elapsed_ns - then.elapsed_ns) / 1e9;
    v->rate = s > 0 ? (double)(now->acknowledged - then.acknowledged) / s : 0;
    v->left_s = -1;
    if (now->known && v->rate > 0)
        v->left_s = (double)(now->total - now->acknowledged) / v->rate;
}

void view_take(struct view *v, struct run_status *r, bool by_stage)
{
    const struct run_status *last = view_latest(v);
    if (r->acknowledged > r->total)
        r->acknowledged = r->total;
    if (last && (r->elapsed_ns < last->elapsed_ns || r->acknowledged < last->acknowledged))
        view_clear(v);  // the source was restarted
    if (v->count == VIEW_STATUSES) {
        run_status_free(&v->statuses[0]);
        memmove(&v->statuses[0], &v->statuses[1], --v->count * sizeof *v->statuses);
    }
    v->statuses[v->count++] = *r;
    const struct run_status *now = view_latest(v);
    v->nrows = 0;
    for (size_t i = 0; i < now->nprocesses && v->nrows < STATUS_PROCESSES_MAX; i++) {
        make_printable(now->processes[i].stage);
        make_printable(now->processes[i].host);
        make_printable(now->processes[i].group);
        const struct view_row row = row_of(v, &now->processes[i]);
        if (by_stage && v->nrows && same_stage(v->rows[v->nrows - 1].process, row.process))
            merge(&v->rows[v->nrows - 1], &row);
        else
            v->rows[v->nrows++] = row;
    }
    mark_bottleneck(v);
    find_rate(v);
}

/* --- a table ------------------------------------------------------------------- */

void view_summary(const struct view *v, char *text, size_t size)
{
    char left[32] = "", time[READABLE_SIZE];
    const struct run_status *r = view_latest(v);
    if (!r || !r->known || !r->elapsed_ns) {
        (void)snprintf(text, size, "waiting for the first frame");
        return;
    }
    if (v->left_s >= 0) {
        readable_time(v->left_s, time);
        (void)snprintf(left, sizeof left, ", %s left", time);
    }
    (void)snprintf(text, size, "%" PRIu64 " of %" PRIu64 " frames, %.1f/s%s", r->acknowledged,
                   r->total, v->rate, left);
}

double view_share(const struct view *v)
{
    const struct run_status *r = view_latest(v);
    if (!r || !r->known || !r->elapsed_ns)
        return 0.0;
    return r->total ? (double)r->acknowledged / (double)r->total : 1.0;
}

static void print_row(const struct view_row *row, FILE *out)
{
    char name[STAGE_NAME_SIZE + 16], pid[24];
    const struct process_status *p = row->process;
    if (row->processes > 1)
        (void)snprintf(pid, sizeof pid, "x%d", row->processes);
    else
        (void)snprintf(pid, sizeof pid, "%" PRId64, p->pid);
    (void)snprintf(name, sizeof name, "%s%s", p->stage, p->durable ? " *" : "");
    fprintf(out, "%-20.20s %8.8s %8" PRIu64 " %5" PRIu64, name, pid, row->frames, row->held);
    if (row->tells)
        fprintf(out, " %8.0f%% %7.0f%% %7.0f%%%s", 100 * row->compute, 100 * row->input,
                100 * row->output, row->bottleneck ? " <" : "");
    else
        fprintf(out, " %9s %8s %8s", "-", "-", "-");
    putc('\n', out);
}

void view_print(const struct view *v, FILE *out)
{
    const struct run_status *r = view_latest(v);
    fprintf(out, "%-20s %8s %8s %5s %9s %8s %8s\n", "stage", "process", "frames", "held",
            "computing", "wait in", "wait out");
    for (size_t i = 0; i < v->nrows; i++)
        print_row(&v->rows[i], out);
    if (r->unlisted)
        fprintf(out, "and %" PRIu64 " processes more\n", r->unlisted);
    if (view_refused(v))
        fprintf(out, "refused %" PRIu64 " connections without a good key\n", view_refused(v));
}

/* --- JSON ---------------------------------------------------------------------- */

static void print_text(const char *name, const char *text, FILE *out)
{
    fprintf(out, "\"%s\":\"", name);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc(*text, out);
    }
    putc('"', out);
}

static void print_process(const struct view_row *row, FILE *out)
{
    const struct process_status *p = row->process;
    const struct work *w = &p->work;
    putc('{', out);
    print_text("stage", p->stage, out);
    putc(',', out);
    print_text("group", p->group, out);
    putc(',', out);
    print_text("host", p->host, out);
    fprintf(out,
            ",\"pid\":%" PRId64 ",\"hops\":%" PRIu32 ",\"durable\":%s,\"frames\":%" PRIu64
            ",\"held\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"bytes_in\":%" PRIu64
            ",\"bytes_out\":%" PRIu64 ",\"cpu_s\":%.3f,\"wall_s\":%.3f",
            p->pid, p->hops, p->durable ? "true" : "false", row->frames, row->held, w->refused,
            w->bytes_in, w->bytes_out, (double)w->cpu_ns / 1e9, (double)w->time_ns / 1e9);
    if (row->tells)
        fprintf(out,
                ",\"compute\":%.4f,\"wait_in\":%.4f,\"wait_out\":%.4f,\"cpus\":%.3f"
                ",\"in_MB_s\":%.3f,\"out_MB_s\":%.3f",
                row->compute, row->input, row->output, row->cpus, row->in_mb_s, row->out_mb_s);
    if (row->processes > 1)
        fprintf(out, ",\"processes\":%d", row->processes);
    fprintf(out, ",\"bottleneck\":%s}", row->bottleneck ? "true" : "false");
}

void view_print_json(const struct view *v, int ended, FILE *out)
{
    const struct run_status *r = view_latest(v);
    if (r->known)
        fprintf(out, "{\"total\":%" PRIu64, r->total);
    else
        fputs("{\"total\":null", out);
    fprintf(out,
            ",\"issued\":%" PRIu64 ",\"acknowledged\":%" PRIu64 ",\"window\":%" PRIu64
            ",\"elapsed_s\":%.3f,\"frames_s\":%.3f",
            r->issued, r->acknowledged, r->window, (double)r->elapsed_ns / 1e9, v->rate);
    if (v->left_s >= 0)
        fprintf(out, ",\"left_s\":%.1f", v->left_s);
    else
        fputs(",\"left_s\":null", out);
    if (ended >= 0)
        fprintf(out, ",\"ended\":%d", ended);
    fprintf(out, ",\"unlisted\":%" PRIu64 ",\"refused\":%" PRIu64 ",\"processes\":[", r->unlisted,
            view_refused(v));
    for (size_t i = 0; i < v->nrows; i++) {
        fputs(i ? "," : "", out);
        print_process(&v->rows[i], out);
    }
    fputs("]}\n", out);
}

/* --- lines on a terminal ----------------------------------------------------- */

enum { COLUMNS = 80, ROWS = 24 };

/* Returns the size of the terminal, or COLUMNS by ROWS if the size is unknown. */
static struct winsize size_of(FILE *out)
{
    struct winsize size = {0};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
        size = (struct winsize){.ws_row = ROWS, .ws_col = COLUMNS};
    return size;
}

/* Clears the lines, so that other text can be written. */
static void screen_clear(struct screen *s)
{
    if (s->lines)
        fputs("\r", s->out);
    if (s->lines > 1)
        fprintf(s->out, "\033[%dA", s->lines - 1);
    if (s->lines)
        fputs("\033[J", s->out);
    (void)fflush(s->out);
    s->lines = 0;
}

void screen_draw(struct screen *s, const char *heading, const struct view *v)
{
    const struct winsize size = size_of(s->out);
    const size_t more = 1 + v->nrows + (view_latest(v)->unlisted > 0);
    if (s->lines)
        fputs("\r", s->out);
    if (s->lines > 1)
        fprintf(s->out, "\033[%dA", s->lines - 1);
    fprintf(s->out, "%.*s\033[K", size.ws_col - 1, heading);
    s->lines = 1;
    if (size.ws_col >= COLUMNS && size.ws_row > more + 1) {
        char *text = NULL, *line;
        size_t length;
        FILE *memory = open_memstream(&text, &length);
        if (memory) {
            view_print(v, memory);
            (void)fclose(memory);
            for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), s->lines++)
                fprintf(s->out, "\n%s\033[K", line);
            free(text);
        }
    }
    fputs("\033[J", s->out);
    (void)fflush(s->out);
}

void screen_end(struct screen *s)
{
    if (s->lines)
        putc('\n', s->out);
    (void)fflush(s->out);
    s->lines = 0;
}

/* --- the progress bar ---------------------------------------------------------- */

static const uint64_t INTERVAL_NS = 400000000;
enum { BAR_WIDTH = 28, TEXT_SIZE = 160 };

void bar_open(struct bar *b, bool wanted)
{
    *b = (struct bar){.on = wanted && isatty(STDERR_FILENO), .screen = {.out = stderr}};
}

static bool is_complete(const struct bar *b)
{
    const struct run_status *r = view_latest(&b->view);
    return r && r->known && r->acknowledged == r->total;
}

static void draw_bar(struct bar *b)
{
    char summary[TEXT_SIZE / 2], heading[TEXT_SIZE];
    const int filled = (int)(view_share(&b->view) * BAR_WIDTH);
    view_summary(&b->view, summary, sizeof summary);
    (void)snprintf(heading, sizeof heading, "[%.*s%.*s] %s", filled,
                   "##############################", BAR_WIDTH - filled,
                   "..............................", summary);
    screen_draw(&b->screen, heading, &b->view);
}

void bar_show(struct bar *b, struct run_status *r, uint64_t now_ns)
{
    const bool last = r->known && r->acknowledged == r->total;
    if (!b->on || (!last && now_ns - b->shown_ns < INTERVAL_NS)) {
        run_status_free(r);
        return;
    }
    b->shown_ns = now_ns;
    view_take(&b->view, r, true);
    draw_bar(b);
}

void bar_say(struct bar *b, const char *format, ...)
{
    va_list args;
    if (is_complete(b))
        bar_close(b);
    if (b->on)
        screen_clear(&b->screen);
    va_start(args, format);
    (void)vfprintf(stderr, format, args);
    va_end(args);
    putc('\n', stderr);
    if (b->on && view_latest(&b->view))
        draw_bar(b);
}

void bar_close(struct bar *b)
{
    screen_end(&b->screen);
    view_clear(&b->view);
    b->on = false;
}
