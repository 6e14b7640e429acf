/* The page of --report about a run. */
#include "run/display/report_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "io/output/replace.h"
#include "page/document.h"
#include "run/display/stats.h"
#include "run/display/timeline.h"
#include "run/local/restart.h"

enum { PIPELINE_SHOWN = 1 << 16 };  // bytes of the pipeline file that are shown at most

enum status report_page_open(struct report_page *r, const char *folder, const char *const *argv,
                             struct error *e)
{
    *r = (struct report_page){
        .folder = folder, .argv = argv, .began = time(NULL), .began_ns = clock_ns()};
    r->processes = open_memstream(&r->text, &r->size);
    return r->processes ? STATUS_OK : error_memory(e, "the report");
}

void report_page_close(struct report_page *r)
{
    if (r->processes)
        (void)fclose(r->processes);
    free(r->text);
    *r = (struct report_page){0};
}

/* ---- processes ------------------------------------------------------------------------ */

static void write_shares(FILE *out, const struct process_cost *c)
{
    fprintf(
        out,
        "<td title=\"computing %.0f %%, waiting for input %.0f %%, for output %.0f %%\"><span "
        "class=\"shares\"><i class=\"compute\" style=\"width:%.1f%%\"></i><i class=\"input\" "
        "style=\"width:%.1f%%\"></i><i class=\"output\" style=\"width:%.1f%%\"></i></span></td>",
        100 * c->compute, 100 * c->input, 100 * c->output, 100 * c->compute, 100 * c->input,
        100 * c->output);
}

static void write_process(FILE *out, const char *folder, const struct process *p)
{
    struct process_cost cost;
    char fate[64];
    restarts_fate(p, fate, sizeof fate);
    fputs("<tr><th>", out);
    html_text(out, p->command->name);
    fputs("</th>", out);
    if (stats_read(folder, p->command->name, &cost)) {
        fprintf(out, "<td>%.0f</td><td>%.2f</td><td>%.2f</td>", cost.frames, cost.cpu_s,
                cost.frames > 0 ? 1e3 * cost.cpu_s / cost.frames : 0.0);
        write_shares(out, &cost);
    } else {
        fputs("<td></td><td></td><td></td><td></td>", out);
    }
    fprintf(out, "<td>%" PRId64 "</td><td>", p->restarts);
    html_text(out, p->status ? fate : "without an error");
    fputs("</td></tr>\n", out);
}

static void write_said(FILE *out, const struct process *p)
{
    const size_t first = p->lines > TAIL_LINES ? p->lines - TAIL_LINES : 0;
    for (size_t i = first; i < p->lines; i++) {
        html_text(out, p->command->name);
        fputs(": ", out);
        html_text(out, p->tail[i % TAIL_LINES]);
        fputc('\n', out);
    }
}

void report_page_take(void *owner, const struct process *processes, size_t count)
{
    const struct report_page *r = owner;
    FILE *out = r->processes;
    size_t lines = 0;
    fputs("<div class=\"card wide\"><h3>Cost of each process</h3><table><tr><th>stage</th>"
          "<th>frames</th><th>CPU s</th><th>CPU ms per frame</th><th>time</th><th>restarts</th>"
          "<th>ended</th></tr>\n",
          out);
    for (size_t i = 0; i < count; i++) {
        write_process(out, r->folder, &processes[i]);
        lines += processes[i].lines;
    }
    fputs(
        "</table><p class=\"soft\">Time: blue is computing, green is waiting for frames, red is "
        "waiting for the next stages. The stage that computes most of its time limits the speed of "
        "the run.</p></div>\n",
        out);
    timeline_write(out, r->folder, processes, count);
    fputs("<div class=\"card\"><h3>Messages of the stages</h3><pre>", out);
    for (size_t i = 0; i < count; i++)
        write_said(out, &processes[i]);
    fputs(lines ? "</pre></div>\n" : "None.</pre></div>\n", out);
}

/* ---- the run -------------------------------------------------------------------------- */

static void write_outcome(FILE *out, const struct report_page *r, enum status status,
                          const struct error *outcome)
{
    char date[64], time[READABLE_SIZE];
    struct tm t;
    (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S %Z", localtime_r(&r->began, &t));
    readable_time((double)(clock_ns() - r->began_ns) / 1e9, time);
    if (status) {
        fputs("<ul class=\"notes\"><li>", out);
        html_text(out, status == STATUS_INTERRUPTED && !outcome->text[0]
                           ? "The run was interrupted."
                       : outcome->text[0] ? outcome->text
                                          : "The run failed.");
        fprintf(out, " (status %d)</li></ul>\n", (int)status);
    }
    fprintf(out, "<p>%s. It started at %s and took %s.</p>\n<pre>",
            status ? "This run ended with an error" : "This run ended without an error", date,
            time);
    for (const char *const *word = r->argv; *word; word++) {
        fputs(word == r->argv ? "" : " ", out);
        html_text(out, *word);
    }
    fputs("</pre>\n", out);
}

static void write_pipeline(FILE *out, const char *path)
{
    FILE *in = fopen(path, "rbe");
    char *text = in ? mem_array(PIPELINE_SHOWN + 1, 1) : NULL;
    if (text) {
        text[fread(text, 1, PIPELINE_SHOWN, in)] = 0;
        char *whole = realpath(path, NULL);
        fputs("<div class=\"card\"><h3 class=\"names\">Pipeline ", out);
        html_text(out, whole ? whole : path);
        fputs("</h3><pre>", out);
        html_lines(out, text);
        free(whole);
        fputs("</pre></div>\n", out);
    }
    mem_free(text);
    if (in)
        (void)fclose(in);
}

/* The page of bragg-report has two gaps.  Copies the part before (0), between (1) or after them
 * (2). Returns false for a page without gaps. */
static bool copy_part(FILE *in, FILE *out, int part)
{
    char *line = NULL;
    size_t room = 0;
    int gaps = 0;
    rewind(in);
    while (getline(&line, &room, in) > 0)
        if (strcmp(line, DOCUMENT_GAP) == 0)
            gaps++;
        else if (gaps == part)
            fputs(line, out);
    free(line);
    return gaps == 2;
}

enum status report_page_write(struct report_page *r, const char *path, const char *frames,
                              const char *pipeline, enum status status, const struct error *outcome,
                              struct error *e)
{
    struct replace file;
    const enum status s = replace_open(&file, path, e);
    if (s)
        return s;
    FILE *in = fopen(frames, "rbe"), *out = file.stream;
    const bool seen = in && copy_part(in, out, 0);
    if (!seen)
        document_begin(out, "A run of braggpipe");
    write_outcome(out, r, status, outcome);
    if (seen)
        (void)copy_part(in, out, 1);
    fputs("<h2>Processes</h2>\n", out);
    (void)fflush(r->processes);
    (void)fwrite(r->text, 1, r->size, out);
    write_pipeline(out, pipeline);
    if (seen)
        (void)copy_part(in, out, 2);
    else
        document_end(out);
    if (in)
        (void)fclose(in);
    return replace_commit(&file, e);
}
