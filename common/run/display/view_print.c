/* Prints a view as a table, and as JSON. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/units.h"
#include "run/display/view.h"

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

/* --- JSON ---------------------------------------------------------------- */

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
