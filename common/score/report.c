/*
 * Writes the report of bragg-score, a page of HTML.  The page has a summary, plots, pictures of
 * frames, and tables of all metrics.
 */
#include "score/report.h"

#include <string.h>

#include "page/document.h"

static void write_head(FILE *out, const struct score *s, const struct figures *f,
                       const char *const results[], size_t nresults)
{
    char title[300];
    const char *first = nresults ? results[0] : "an analysis", *slash = strrchr(first, '/');
    (void)snprintf(title, sizeof title, "Score of %s", slash && slash[1] ? slash + 1 : first);
    document_begin(out, title);
    fputs("<p class=\"soft names\">", out);
    for (size_t i = 0; i < nresults; i++) {
        fputs(i ? ", " : "", out);
        html_text(out, results[i]);
    }
    fputs(", compared with the ground truth ", out);
    html_text(out, s->truth->path);
    fputs(". The frames were simulated, so every reflection of every frame is known.</p>\n", out);
    if (f->nnotes)
        fputs("<ul class=\"notes\">\n", out);
    for (size_t i = 0; i < f->nnotes; i++) {
        fputs("<li>", out);
        html_text(out, f->notes[i]);
        fputs("</li>\n", out);
    }
    if (f->nnotes)
        fputs("</ul>\n", out);
}

enum status report_write(FILE *out, struct score *s, const struct figures *f,
                         const char *const results[], size_t nresults, struct error *e)
{
    write_head(out, s, f, results, nresults);
    report_summary(out, f);
    enum status status = STATUS_OK;
    if (s->nanswered) {
        report_plots(out, s);
        status = report_frames(out, s, e);
    }
    report_figures(out, s, f);
    fputs("<p class=\"soft\">Made by bragg-score. The manual page bragg-score(1) defines each "
          "metric.</p>\n",
          out);
    document_end(out);
    return status;
}
