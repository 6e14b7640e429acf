#include "score_output.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/log.h"
#include "io/output/replace.h"
#include "score/score.h"

static enum status write_json(const struct figures *f, const char *path, struct error *e)
{
    const bool is_stdout = strcmp(path, "-") == 0;
    const int file =
        is_stdout ? -1 : steady_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FILE *out = is_stdout ? stdout : file < 0 ? NULL : steady_stream(file, "w");
    if (!out)
        return error_errno(e, STATUS_FAILED, "%s: cannot open", path);
    figures_json(f, out);
    const bool good = !fflush(out) && !ferror(out);
    if ((is_stdout || !fclose(out)) && good)
        return STATUS_OK;
    return error_errno(e, STATUS_FAILED, "%s: cannot write", path);
}

enum status score_report(struct score *s, const struct figures *f, const char *path,
                         const char *const results[], size_t nresults, struct error *e)
{
    struct replace file;
    enum status status = replace_open(&file, path, e);
    if (status)
        return status;
    status = report_write(file.stream, s, f, results, nresults, e);
    if (!status)
        return replace_commit(&file, e);
    replace_abort(&file);
    return status;
}

enum status score_print(const struct figures *f, const char *json, struct error *e)
{
    if (!json || strcmp(json, "-") != 0)
        figures_print(f, stdout);
    if (fflush(stdout) || ferror(stdout))
        return error_errno(e, STATUS_FAILED, "cannot write the figures");
    return json ? write_json(f, json, e) : STATUS_OK;
}

enum status score_require(const struct figures *f, const struct opt_texts *require, struct error *e)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < require->count; i++) {
        const char *text = require->text[i];
        double value;
        bool met;
        struct error cause;
        enum status s = figures_require(f, text, &met, &value, &cause);
        if (!s && !met && isfinite(value))
            s = error_set(&cause, STATUS_FAILED, "required %s: it is %.6g", text, value);
        else if (!s && !met)
            s = error_set(&cause, STATUS_FAILED, "required %s: it is absent", text);
        if (s && status)
            log_line(LOG_ERROR, "%s", cause.text);
        if (s && !status) {
            *e = cause;
            status = s;
        }
    }
    return status;
}
