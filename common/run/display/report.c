/* The table of --stats and the merged trace of --trace. */
#include "run/display/report.h"

#include <string.h>

#include "base/alloc.h"
#include "io/output/replace.h"
#include "run/display/stats.h"

enum { LINE_BYTES = 1024 };

void report_stats(const struct commands *c, const char *folder, FILE *out)
{
    struct process_cost cost;
    fprintf(out, "%-18s %8s %10s %10s %10s %11s\n", "stage", "frames", "cpu s", "computing",
            "wait input", "wait output");
    for (size_t i = 0; i < c->count; i++)
        if (stats_read(folder, c->list[i].name, &cost))
            fprintf(out, "%-18s %8.0f %10.3f %9.1f%% %9.1f%% %10.1f%%\n", c->list[i].name,
                    cost.frames, cost.cpu_s, 100 * cost.compute, 100 * cost.input,
                    100 * cost.output);
}

/* Copies the text between the outer brackets of "[...]\n".  Returns false, and copies nothing, if
 * the file is incomplete, as that of a killed process can be. */
static bool copy_events(FILE *in, FILE *out, bool *any)
{
    char end[2];
    if (fseek(in, -2, SEEK_END) != 0)
        return false;
    long left = ftell(in) - 1;
    if (fread(end, 1, 2, in) != 2 || memcmp(end, "]\n", 2) != 0 || left <= 0)
        return false;
    fputs(*any ? ",\n" : "", out);
    *any = true;
    (void)fseek(in, 1, SEEK_SET);
    for (int c; left > 0 && (c = getc(in)) != EOF; left--)
        putc(c, out);
    return true;
}

/* Labels a process of the trace with its name and place in the pipeline. */
static void label_process(FILE *in, const char *name, size_t place, FILE *out)
{
    char first[LINE_BYTES];
    (void)fseek(in, 0, SEEK_SET);
    const double pid = fgets(first, sizeof first, in) ? stats_value(first, "pid") : 0;
    if (pid <= 0)
        return;
    fprintf(out,
            ",\n{\"name\":\"process_labels\",\"ph\":\"M\",\"pid\":%.0f,"
            "\"args\":{\"labels\":\"%s\"}}",
            pid, name);
    fprintf(out,
            ",\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%.0f,"
            "\"args\":{\"sort_index\":%zu}}",
            pid, place);
}

enum status report_trace(const struct commands *c, const char *folder, const char *path,
                         struct error *e)
{
    struct replace r;
    bool any = false;
    const enum status s = replace_open(&r, path, e);
    if (s)
        return s;
    putc('[', r.stream);
    for (size_t i = 0; i < c->count; i++) {
        char *from = command_file(folder, c->list[i].name, "trace");
        FILE *in = from ? fopen(from, "r") : NULL;
        mem_free(from);
        if (!in)
            continue;
        if (copy_events(in, r.stream, &any))
            label_process(in, c->list[i].name, i, r.stream);
        (void)fclose(in);
    }
    fputs("]\n", r.stream);
    return replace_commit(&r, e);
}
