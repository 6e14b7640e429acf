#include "score/lines.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/files.h"

enum { TEXT_SIZE = 400, LINE_SIZE = 1 << 16, PAUSE_NS = 20000000 };

/* --- waiting ----------------------------------------------------------------- */

static bool is_over(const struct follow *f, uint64_t since_ns)
{
    return f->done(f->of) || (double)(clock_ns() - since_ns) * 1e-9 > f->seconds;
}

static void pause_briefly(void)
{
    const struct timespec t = {.tv_nsec = PAUSE_NS};
    (void)nanosleep(&t, NULL);
}

/* Opens a file.  If it is followed and does not exist yet, waits until it exists. */
static FILE *wait_for_file(const char *path, const struct follow *follow)
{
    const uint64_t since_ns = clock_ns();
    FILE *in = input_open(path);
    while (!in && errno == ENOENT && follow && !is_over(follow, since_ns)) {
        pause_briefly();
        in = input_open(path);
    }
    return in;
}

/* Reads the next bytes up to the end of the line, but fewer than `room`, to `at`.  If the file
 * is followed, waits for more bytes.  Returns false at the end of the file. */
static bool wait_for_bytes(struct lines *l, char *at, int room)
{
    if (fgets(at, room, l->in))
        return true;
    const uint64_t since_ns = clock_ns();
    while (!ferror(l->in) && l->follow && !is_over(l->follow, since_ns)) {
        pause_briefly();
        clearerr(l->in);
        if (fgets(at, room, l->in))
            return true;
    }
    return false;
}

/* --- lines ------------------------------------------------------------------- */

/* Reports an error that names the type of the file if the file is of another type.  The type of a
 * pipe is not checked here, because only its first line shows it. */
static enum status check_type(struct lines *l, enum filetype wanted, struct error *e)
{
    struct stat st;
    if (stat(l->path, &st) || !S_ISREG(st.st_mode))
        return STATUS_OK;
    const enum filetype type = filetype_of_file(l->in);
    rewind(l->in);
    return filetype_check(l->path, type, wanted, e);
}

enum status lines_open(struct lines *l, const char *path, enum filetype wanted,
                       const struct follow *follow, struct error *e)
{
    *l = (struct lines){.path = path, .follow = follow, .in = wait_for_file(path, follow)};
    if (!l->in)
        return error_errno(e, STATUS_INPUT, "%s: cannot open", path);
    l->line = mem_array(LINE_SIZE, 1);
    return check_type(l, wanted, e);
}

bool lines_next(struct lines *l)
{
    size_t length = 0;
    l->half_line = false;
    *l->line = 0;
    do {
        if (!wait_for_bytes(l, l->line + length, (int)(LINE_SIZE - length))) {
            l->half_line = length > 0;
            l->ended = true;
            return false;
        }
        const size_t more = strlen(l->line + length);
        length += more;
        l->half_line = !more || l->line[length - 1] != '\n';
    } while (l->half_line && feof(l->in) && l->follow && length < LINE_SIZE - 1);
    l->ended = l->half_line && feof(l->in);
    if (l->half_line)
        return false;
    l->line[length - 1] = 0;
    l->number++;
    return true;
}

double lines_now(const struct lines *l)
{
    struct timespec t;
    if (!l->follow || clock_gettime(CLOCK_REALTIME, &t))
        return 0.0;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum status lines_fail(const struct lines *l, struct error *e, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return error_set(e, STATUS_INPUT, "%s:%ld: %s", l->path, l->number, text);
}

enum status lines_end_early(const struct lines *l, const char *where, struct error *e)
{
    if (ferror(l->in))
        return error_errno(e, STATUS_FAILED, "%s: cannot read", l->path);
    if (l->half_line && !l->ended)
        return lines_fail(l, e,
                          "the next line has a zero byte, or more than %d bytes; expected text",
                          LINE_SIZE - 2);
    return lines_fail(
        l, e, "the file ends in the middle of %s. Is it truncated, or still being written?", where);
}

void lines_close(struct lines *l)
{
    if (l->in)
        (void)fclose(l->in);
    mem_free(l->line);
    *l = (struct lines){0};
}

int items_split(char *line, char *words[ITEMS_MAX])
{
    int n = 0;
    line[strcspn(line, "#\r")] = 0;
    for (char *rest = NULL, *word = strtok_r(line, " \t", &rest); word;
         word = strtok_r(NULL, " \t", &rest)) {
        if (n == ITEMS_MAX)
            return -1;
        words[n++] = word;
    }
    return n;
}

int items_find(char *const words[], int count, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}
