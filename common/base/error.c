#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void error_format(struct error *e, enum status status, const char *format, va_list args)
{
    e->status = status;
    (void)vsnprintf(e->text, sizeof e->text, format, args);
    for (char *c = e->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = '?';
}

enum status error_set(struct error *e, enum status status, const char *format, ...)
{
    if (e) {
        va_list args;
        va_start(args, format);
        error_format(e, status, format, args);
        va_end(args);
    }
    return status;
}

enum status error_errno(struct error *e, enum status status, const char *format, ...)
{
    const int saved = errno;
    if (e) {
        va_list args;
        va_start(args, format);
        error_format(e, status, format, args);
        va_end(args);
        const char *cause = strerror(saved);
        const size_t most = sizeof e->text - strlen(cause) - sizeof ": ";
        const size_t used = strnlen(e->text, most);
        (void)snprintf(e->text + used, sizeof e->text - used, ": %s", cause);
    }
    return status;
}

enum status error_memory(struct error *e, const char *what)
{
    return error_set(e, STATUS_FAILED, "out of memory for %s", what);
}
