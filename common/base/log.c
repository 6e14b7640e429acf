#include "base/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program_name = "bragg";
static enum log_level shown = LOG_WARNING;

void log_open(const char *program)
{
    const char *name = getenv(LOG_NAME);
    program_name = name ? name : program;
}

void log_set_level(enum log_level level)
{
    const bool watched = level >= LOG_WARNING && (getenv(LOG_TERMINAL) || isatty(STDERR_FILENO));
    shown = watched && level < LOG_TELL ? LOG_TELL : level;
}

bool log_is_watched(void)
{
    return shown >= LOG_TELL;
}

const char *log_program(void)
{
    return program_name;
}

static bool print_place(int fd, char text[64])
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    (void)snprintf(text, 64, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return true;
}

void log_mark_stderr(int fd)
{
    char place[64];
    if (print_place(fd, place))
        (void)setenv(LOG_SUPERVISED, place, 1);
    else
        (void)unsetenv(LOG_SUPERVISED);
}

static bool is_supervised(void)
{
    char place[64];
    const char *wanted = getenv(LOG_SUPERVISED);
    return wanted && print_place(STDERR_FILENO, place) && strcmp(place, wanted) == 0;
}

const char *log_aside(void)
{
    static const char aside[] = {LOG_ASIDE, 0};
    return is_supervised() ? aside : "";
}

bool log_is_part(void)
{
    return getenv(LOG_AGAIN) || getenv("BRAGG_WORKER");
}

void log_tell(const char *word)
{
    if (is_supervised())
        fprintf(stderr, "%c%c%s\n", LOG_ASIDE, LOG_ASIDE, word);
}

void log_line(enum log_level level, const char *format, ...)
{
    if (level > shown)
        return;
    static const char mark[] = {LOG_MARK, 0};
    const char *begin = isatty(STDERR_FILENO)                       ? "\r\033[K"
                        : level > LOG_ERROR && getenv(LOG_TERMINAL) ? mark
                        : level == LOG_NOTICE && is_supervised()    ? mark
                        : level > LOG_ERROR                         ? log_aside()
                                                                    : "";
    char line[1024];
    va_list args;
    va_start(args, format);
    error_line(line, sizeof line, format, args);
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
