/* Writes the table of --stats, the trace of --trace and the page of --report. */
#include "run/display/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/units.h"
#include "io/output/output_file.h"
#include "page/document.h"
#include "run/local/restart.h"
#include "run/pipeline/commands.h"

/* --- what a process cost ------------------------------------------------------- */

enum { LINE_BYTES = 1024 };

/* Cost of a process, as it reports with --stats. */
struct process_cost {
    double frames, late, cpu_s, wall_s;  // late: frames that bragg-serve sent after their time
    double compute, input, output;  // fractions of wall_s: computing (with checksums and copies),
                                    // waiting for input, waiting for output
};

/* Returns the number of the key `name` in a flat JSON object; 0: the key is missing. */
static double stats_value(const char *json, const char *name)
{
    char key[64];
    (void)snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(json, key);
    return at ? strtod(at + strlen(key), NULL) : 0;
}

/* Reads the cost of process `name` from its statistics in `folder`.  The file has one line for each
 * start of the process; the last one counts.  Returns false if there is none. */
static bool stats_read(const char *folder, const char *name, struct process_cost *cost)
{
    char line[LINE_BYTES];
    char *path = command_file(folder, name, "stats");
    FILE *in = fopen(path, "r");
    bool any = false;
    mem_free(path);
    if (!in)
        return false;
    while (fgets(line, sizeof line, in))
        any = true;
    (void)fclose(in);
    if (!any)
        return false;
    const double wall_s = stats_value(line, "wall_s"), scale = wall_s > 0 ? 1 / wall_s : 0,
                 work_s = stats_value(line, "compute_s") + stats_value(line, "codec_s");
    *cost = (struct process_cost){.frames = stats_value(line, "frames"),
                                  .late = stats_value(line, "late"),
                                  .cpu_s = stats_value(line, "cpu_s"),
                                  .wall_s = wall_s,
                                  .compute = work_s * scale,
                                  .input = stats_value(line, "wait_in_s") * scale,
                                  .output = stats_value(line, "wait_out_s") * scale};
    return true;
}

/* --- the table and the trace --------------------------------------------------- */

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

/* Returns the number of a process of the stage that computes for most of its time, and sets *share
 * to that fraction of its time.  c->count: no stage computes for half of its time. */
static size_t find_limit(const struct commands *c, const char *folder, double *share)
{
    struct process_cost cost;
    size_t limit = c->count;
    *share = 0.5;
    for (size_t i = 0, end; i < c->count; i = end) {
        double busy = 0, processes = 0;
        for (end = i; end < c->count && c->list[end].stage == c->list[i].stage; end++)
            if (stats_read(folder, c->list[end].name, &cost) && cost.frames > 0) {
                busy += cost.compute;
                processes++;
            }
        if (processes > 0 && busy / processes > *share) {
            *share = busy / processes;
            limit = i;
        }
    }
    return limit;
}

/* Fraction of the time of all CPU cores from which the cores limit a run. */
static const double CORES_BUSY = 0.85;

/* Returns the part of the time of `cores` CPU cores for which the processes of a run kept the cores
 * busy.  The start of the run counts as well. */
static double busy_cores(const struct commands *c, const char *folder, int64_t cores)
{
    struct process_cost cost;
    double cpu_s = 0, wall_s = 0;
    for (size_t i = 0; i < c->count; i++)
        if (stats_read(folder, c->list[i].name, &cost)) {
            cpu_s += cost.cpu_s;
            wall_s = cost.wall_s > wall_s ? cost.wall_s : wall_s;
        }
    return wall_s > 0 && cores ? cpu_s / wall_s / (double)cores : 0;
}

/* Returns the number of a process of the stage that used most of the CPU time, and sets *share to
 * its part of the CPU time of all stages.  c->count: no process has statistics. */
static size_t find_costly(const struct commands *c, const char *folder, double *share)
{
    struct process_cost cost;
    double most = 0, all = 0;
    size_t costly = c->count;
    for (size_t i = 0, end; i < c->count; i = end) {
        double cpu_s = 0;
        for (end = i; end < c->count && c->list[end].stage == c->list[i].stage; end++)
            cpu_s += stats_read(folder, c->list[end].name, &cost) ? cost.cpu_s : 0;
        all += cpu_s;
        if (cpu_s > most) {
            most = cpu_s;
            costly = i;
        }
    }
    *share = all > 0 ? most / all : 0;
    return costly;
}

/* Prints that no process can be faster, because all CPU cores are busy, and which stage uses them.
 * Returns false if the cores are not busy. */
static bool print_busy_cores(const struct commands *c, const char *folder, int64_t cores, FILE *out)
{
    double share;
    const double busy = busy_cores(c, folder, cores);
    const size_t costly = find_costly(c, folder, &share);
    if (busy < CORES_BUSY || costly == c->count)
        return false;
    fprintf(out,
            "bragg-run: the CPU cores limit the speed: %" PRId64 " of them computed for %.0f %% of "
            "the time; '%s' used %.0f %% of that\n",
            cores, 100 * (busy < 1 ? busy : 1), c->list[costly].stage->name, 100 * share);
    return true;
}

/* Prints for each bragg-serve with --rate whether its frames left at that rate. */
static void print_rates(const struct commands *c, const char *folder, FILE *out)
{
    struct process_cost cost;
    for (size_t i = 0; i < c->count; i++) {
        const struct pipeline_stage *s = c->list[i].stage;
        const char *rate = pipeline_value(s, "rate");
        if (!rate || !pipeline_is_program(s, "bragg-serve") ||
            !stats_read(folder, c->list[i].name, &cost))
            continue;
        if (cost.late > 0)
            fprintf(out, "bragg-run: '%s' sent %.0f of %.0f frames later than --rate=%s requires\n",
                    c->list[i].name, cost.late, cost.frames, rate);
        else
            fprintf(out, "bragg-run: '%s' sent all frames at --rate=%s\n", c->list[i].name, rate);
    }
}

void report_limit(const struct commands *c, const char *folder, int64_t cores, FILE *out)
{
    static const char *const dividing[] = {"bragg-noise", "bragg-background", "bragg-write"};
    double share;
    const size_t limit = find_limit(c, folder, &share);
    print_rates(c, folder, out);
    if (print_busy_cores(c, folder, cores, out))
        return;
    if (limit == c->count) {
        fputs("bragg-run: no stage limits the speed: none computes for half of its time\n", out);
        return;
    }
    const struct pipeline_stage *s = c->list[limit].stage;
    fprintf(out, "bragg-run: '%s' limits the speed: it computes for %.0f %% of its time", s->name,
            100 * share);
    for (size_t i = 0; i < sizeof dividing / sizeof *dividing; i++)
        if (pipeline_is_program(s, dividing[i]))
            fprintf(out, "; --count=%s=%" PRId64 " divides its frames among more processes",
                    s->name, s->count + 1);
    fputc('\n', out);
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
        FILE *in = fopen(from, "r");
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

/* --- the timeline -------------------------------------------------------------- */

/* Sizes in SVG units: of the timeline (WIDTH), of its left column with the names (LEFT), of a
 * row (ROW), and of the bar in a row (BAR).  FRAMES is the number of frames that the interval
 * should contain. */
static const double WIDTH = 900, LEFT = 130, ROW = 18, BAR = 12, FRAMES = 10;
enum { TRACE_LINE_BYTES = 512, SPANS_MAX = 4000, NAME_SHOWN = 18 };

/* One piece of work of a process on one frame, as its trace records it.  Times are in us, on the
 * clock that all processes of a host share. */
struct span {
    double from_us, to_us, frame;
    char name[12];
};

static bool read_span(const char *line, struct span *s)
{
    const char *name = strstr(line, "\"name\":\"");
    if (!name || !strstr(line, "\"ph\":\"X\""))
        return false;
    name += strlen("\"name\":\"");
    (void)snprintf(s->name, sizeof s->name, "%.*s", (int)strcspn(name, "\""), name);
    s->from_us = stats_value(line, "ts");
    s->to_us = s->from_us + stats_value(line, "dur");
    s->frame = stats_value(line, "frame");
    return true;
}

static FILE *open_trace(const char *folder, const struct process *p)
{
    char *path = command_file(folder, p->command->name, "trace");
    FILE *in = fopen(path, "re");
    mem_free(path);
    return in;
}

/* An interval in which all processes that compute frames were working, and which all traces
 * still contain, because a trace keeps only the last spans.  `rate` is the rate of the fastest
 * process, in frames/us; 0: there is no such interval. */
struct extent {
    double from_us, to_us, rate;
};

static struct extent extent_of(FILE *in)
{
    char line[TRACE_LINE_BYTES];
    struct extent x = {INFINITY, -INFINITY, 0};
    struct span s;
    double frames = 0;
    while (fgets(line, sizeof line, in))
        if (read_span(line, &s) && strcmp(s.name, "compute") == 0) {
            x.from_us = fmin(x.from_us, s.from_us);
            x.to_us = fmax(x.to_us, s.to_us);
            frames++;
        }
    x.rate = x.to_us > x.from_us ? frames / (x.to_us - x.from_us) : 0;
    return x;
}

static struct extent common_extent(const char *folder, const struct process *processes,
                                   size_t count)
{
    struct extent all = {-INFINITY, INFINITY, 0};
    for (size_t i = 0; i < count; i++) {
        FILE *in = open_trace(folder, &processes[i]);
        const struct extent x = in ? extent_of(in) : (struct extent){0};
        if (in)
            (void)fclose(in);
        if (!(x.rate > 0))
            continue;
        all.from_us = fmax(all.from_us, x.from_us);
        all.to_us = fmin(all.to_us, x.to_us);
        all.rate = fmax(all.rate, x.rate);
    }
    return all;
}

static void write_row(FILE *out, FILE *in, const char *name, double y, double from_us, double to_us)
{
    char line[TRACE_LINE_BYTES];
    struct span s;
    int spans = 0;
    fprintf(out, "<text x=\"%g\" y=\"%g\" class=\"end\">%.*s</text>\n", LEFT - 8, y + BAR - 2,
            NAME_SHOWN, name);
    while (fgets(line, sizeof line, in) && spans < SPANS_MAX) {
        if (!read_span(line, &s) || s.to_us < from_us || s.from_us > to_us ||
            strcmp(s.name, "wait") == 0)
            continue;
        const double scale = (WIDTH - LEFT) / (to_us - from_us);
        const double x0 = LEFT + (fmax(s.from_us, from_us) - from_us) * scale,
                     x1 = LEFT + (fmin(s.to_us, to_us) - from_us) * scale;
        const char *class = strcmp(s.name, "compute") == 0 ? "bar" : "other";
        fprintf(out,
                "<rect class=\"%s\" x=\"%.1f\" y=\"%g\" width=\"%.1f\" height=\"%g\"><title>%s, "
                "frame %.0f: %.3g ms</title></rect>\n",
                class, x0, y, fmax(x1 - x0, 0.4), BAR, s.name, s.frame,
                (s.to_us - s.from_us) / 1e3);
        spans++;
    }
}

void timeline_write(FILE *out, const char *folder, const struct process *processes, size_t count)
{
    const struct extent all = common_extent(folder, processes, count);
    if (!(all.rate > 0) || !(all.to_us > all.from_us))
        return;
    const double middle_us = 0.5 * (all.from_us + all.to_us),
                 half_us = 0.5 * fmin(all.to_us - all.from_us, FRAMES / all.rate);
    fprintf(out,
            "<div class=\"card wide\"><h3>Timeline of the processes</h3>\n<svg class=\"plot\" "
            "viewBox=\"0 0 "
            "%g %g\" role=\"img\" aria-label=\"Work of each process over %.3g ms\">\n",
            WIDTH, ROW * (double)count, 2 * half_us / 1e3);
    size_t row = 0;
    for (size_t i = 0; i < count; i++) {
        FILE *in = open_trace(folder, &processes[i]);
        if (!in)
            continue;
        write_row(out, in, processes[i].command->name, ROW * (double)row++, middle_us - half_us,
                  middle_us + half_us);
        (void)fclose(in);
    }
    fprintf(
        out,
        "</svg>\n<p class=\"soft\">%.3g ms of the run. Dark: computing. Light: receiving and "
        "sending. bragg-run --trace=FILE records the whole run for ui.perfetto.dev.</p></div>\n",
        2 * half_us / 1e3);
}

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

/* --- the page: processes ------------------------------------------------------- */

static void write_shares(FILE *out, const struct process_cost *c)
{
    fprintf(
        out,
        "<td class=\"full\" title=\"computing %.0f %%, waiting for input %.0f %%, for output %.0f "
        "%%\"><span "
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
        fprintf(out,
                "<td data-name=\"frames\">%.0f</td><td data-name=\"CPU s\">%.2f</td>"
                "<td data-name=\"ms per frame\">%.2f</td>",
                cost.frames, cost.cpu_s, cost.frames > 0 ? 1e3 * cost.cpu_s / cost.frames : 0.0);
        write_shares(out, &cost);
    } else {
        fputs("<td></td><td></td><td></td><td></td>", out);
    }
    fprintf(out, "<td data-name=\"restarts\">%" PRId64 "</td><td data-name=\"ended\">",
            p->restarts);
    html_text(out, p->status ? fate : "without an error");
    fputs("</td></tr>\n", out);
}

static void write_messages(FILE *out, const struct process *p)
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
    if (!lines)
        return;
    fputs("<div class=\"card\"><h3>Messages of the stages</h3><pre>", out);
    for (size_t i = 0; i < count; i++)
        write_messages(out, &processes[i]);
    fputs("</pre></div>\n", out);
}

/* --- the page: the run --------------------------------------------------------- */

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
    if (!in)
        return;
    char *text = mem_array(PIPELINE_SHOWN + 1, 1), *whole = realpath(path, NULL);
    text[fread(text, 1, PIPELINE_SHOWN, in)] = 0;
    fputs("<div class=\"card\"><h3 class=\"names\">Pipeline ", out);
    html_text(out, whole ? whole : path);
    fputs("</h3><pre>", out);
    html_lines(out, text);
    fputs("</pre></div>\n", out);
    free(whole);
    mem_free(text);
    (void)fclose(in);
}

/* Copies a part of the page of bragg-report, which has two gaps (lines DOCUMENT_GAP).  `part` is
 * 0 for the part before the gaps, 1 for the part between them, and 2 for the part after them.
 * Returns false if the page does not have two gaps. */
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

void report_title(const char *pipeline, char title[REPORT_TITLE_SIZE])
{
    const char *slash = strrchr(pipeline, '/');
    (void)snprintf(title, REPORT_TITLE_SIZE, "Run of %s", slash && slash[1] ? slash + 1 : pipeline);
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
    if (!seen) {
        char title[REPORT_TITLE_SIZE];
        report_title(pipeline, title);
        document_begin(out, title);
    }
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
