#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *program_name = "bragg";
static enum log_level shown = LOG_WARNING;
static bool watched;

void log_open(const char *program)
{
    program_name = program;
}

void log_set_level(enum log_level level)
{
    watched = level >= LOG_WARNING && (getenv(LOG_TERMINAL) || isatty(STDERR_FILENO));
    shown = watched && level < LOG_TELL ? LOG_TELL : level;
}

bool log_is_watched(void)
{
    return watched;
}

const char *log_program(void)
{
    return program_name;
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level > shown)
        return;
    static const char mark[] = {LOG_MARK, 0};
    const char *begin = isatty(STDERR_FILENO)                       ? "\r\033[K"
                        : level > LOG_ERROR && getenv(LOG_TERMINAL) ? mark
                                                                    : "";
    char line[1024];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    fprintf(stderr, "%s%s: %s%s\n", begin, program_name, level == LOG_WARNING ? "warning: " : "",
            line);
}

int log_fail(const struct error *e)
{
    if (e->text[0])
        log_line(LOG_ERROR, "%s", e->text);
    return (int)e->status;
}
