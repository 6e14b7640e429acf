#include "io/structure_factors/gemmi.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/program.h"

/* --- running a program ------------------------------------------------------------------ */

/* Exit statuses of a child process that could not execute the program.  A shell uses the same. */
enum { NOT_THERE = 127, NOT_RUN = 126 };

/* Limits the address space of this process to TOOL_BYTES, or leaves a lower limit unchanged.
 * Returns false if the limit cannot be set. */
static bool limit_memory(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_AS, &l))
        return false;
    l.rlim_cur = l.rlim_cur < TOOL_BYTES ? l.rlim_cur : TOOL_BYTES;
    return setrlimit(RLIMIT_AS, &l) == 0;
}

/* Stores the path of a program in the folder ../libexec/braggpipe of this program.  Stores an empty
 * text if the folder of this program is not known. */
static void find_own(const char *name, char *path, size_t size)
{
    char self[PATH_MAX];
    path[0] = '\0';
    if (program_folder(self))
        (void)snprintf(path, size, "%s../libexec/braggpipe/%.30s", self, name);
}

/* Executes argv[0] from PATH, or else the file `own`.  Called in the child process.  stdin is
 * empty, stdout goes to `output`, stderr to `messages`, and `keep` stays open.  The program is
 * killed when the process `parent` ends.
 *
 * This process may already have more address space than the limit allows.  Its stack cannot grow
 * then.  No function with a large frame is called after limit_memory. */
static _Noreturn void become_program(char *const argv[], const char *own, int keep, int output,
                                     int messages, pid_t parent)
{
    sigset_t none;
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)sigemptyset(&none);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)signal(SIGXFSZ, SIG_DFL);
    if (dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(messages, 2) < 0 ||
        (keep >= 0 && fcntl(keep, F_SETFD, 0)) || sigprocmask(SIG_SETMASK, &none, NULL) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || !limit_memory())
        _exit(NOT_RUN);
    (void)execvp(argv[0], argv);
    if (errno == ENOENT)
        (void)execv(own, argv);
    _exit(errno == ENOENT ? NOT_THERE : NOT_RUN);
}

/* Appends n bytes of output to the text `said`, which holds only the last line.  The last line is
 * kept until the first byte of the next line arrives.  *ended: the last byte was a line feed. */
static void keep_line(char *said, size_t size, const char *bytes, size_t n, bool *ended)
{
    size_t length = strlen(said);
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n') {
            *ended = true;
            continue;
        }
        if (*ended)
            length = 0;
        *ended = false;
        if (length + 1 < size)
            said[length++] = bytes[i];
        said[length] = '\0';
    }
}

static void keep_last_line(int from, char *said, size_t size)
{
    char bytes[1024];
    bool ended = false;
    ssize_t n;
    while ((n = read(from, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR))
        keep_line(said, size, bytes, n > 0 ? (size_t)n : 0, &ended);
}

static enum status judge_exit(const char *name, int status, struct error *e)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return STATUS_OK;
    if (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGTERM))
        return error_set(e, STATUS_INTERRUPTED, "%s: interrupted", name);
    if (WIFSIGNALED(status))
        return error_set(e, STATUS_FAILED, "%s: killed by signal %d (%s)", name, WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == NOT_THERE)
        return error_set(e, STATUS_FAILED, "%s: is not installed", name);
    if (WEXITSTATUS(status) == NOT_RUN)
        return error_set(e, STATUS_FAILED, "%s: cannot run it", name);
    return error_set(e, STATUS_INPUT, "%s: failed with status %d", name, WEXITSTATUS(status));
}

/* Runs a program like tool_run, but writes its stdout to the file `output`, at the current
 * position of the file.  `said` then gets the last line of stderr only.  `output` = -1: `said`
 * gets the last line of stdout or stderr, as in tool_run. */
static enum status tool_output(char *const argv[], int keep, int output, char *said, size_t size,
                               struct error *e)
{
    int ends[2], status = 0;
    char own[PATH_MAX + 64];
    const pid_t parent = getpid();
    said[0] = '\0';
    find_own(argv[0], own, sizeof own);
    if (pipe2(ends, O_CLOEXEC))
        return error_errno(e, STATUS_FAILED, "%s: cannot make a pipe", argv[0]);
    const pid_t child = fork();
    if (child == 0)
        become_program(argv, own, keep, output < 0 ? ends[1] : output, ends[1], parent);
    (void)close(ends[1]);
    if (child > 0)
        keep_last_line(ends[0], said, size);
    (void)close(ends[0]);
    if (child < 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot start it", argv[0]);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return judge_exit(argv[0], status, e);
}

enum status tool_run(char *const argv[], int keep, char *said, size_t size, struct error *e)
{
    return tool_output(argv, keep, -1, said, size, e);
}

enum status tool_file(const char *what, int *file, char name[TOOL_NAME_SIZE], struct error *e)
{
    const int low = memfd_create("for a program", MFD_CLOEXEC);
    *file = low < 0 ? -1 : fcntl(low, F_DUPFD_CLOEXEC, 3);  // the program needs 0 to 2 for stdin,
                                                            // stdout and stderr
    if (low >= 0)
        (void)close(low);
    if (*file < 0)
        return error_errno(e, STATUS_FAILED, "%s: cannot create a file in memory", what);
    (void)snprintf(name, TOOL_NAME_SIZE, "/proc/self/fd/%d", *file);
    return STATUS_OK;
}

/* Waits until the parent process closes the other end of the pipe `hold`, or dies, and then
 * removes the link `path`.  Called in a child process. */
static _Noreturn void wait_and_remove(const char *path, int hold)
{
    char byte;
    if (hold > 0)
        program_close_files(0, (unsigned)hold - 1);
    program_close_files((unsigned)hold + 1, ~0U);
    (void)setsid();
    while (read(hold, &byte, 1) < 0 && errno == EINTR)
        ;
    (void)unlink(path);
    _exit(0);
}

/* Creates a symbolic link to `target` under an unused name, which `path` gets.  Returns false if
 * this is not possible. */
static bool make_link(const char *target, const char *suffix, char path[TOOL_LINK_SIZE])
{
    enum { ATTEMPTS = 100 };
    const char *folder = getenv("TMPDIR");
    folder = folder && *folder == '/' && strlen(folder) < TOOL_LINK_SIZE / 2 ? folder : "/tmp";
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        (void)snprintf(path, TOOL_LINK_SIZE, "%s/bragg-%ld-%u%s", folder, (long)getpid(), i,
                       suffix);
        if (symlink(target, path) == 0)
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

enum status tool_link(const char *what, const char *target, const char *suffix, struct tool_link *l,
                      struct error *e)
{
    int ends[2];
    *l = (struct tool_link){.hold = -1};
    if (pipe2(ends, O_CLOEXEC))
        return error_errno(e, STATUS_FAILED, "%s: cannot make a pipe", what);
    if (!make_link(target, suffix, l->path)) {
        const enum status s =
            error_errno(e, STATUS_FAILED, "%s: cannot make the link %s", what, l->path);
        (void)close(ends[0]);
        (void)close(ends[1]);
        return s;
    }
    l->guard = fork();
    if (l->guard == 0)
        wait_and_remove(l->path, ends[0]);
    l->hold = ends[1];
    (void)close(ends[0]);
    return STATUS_OK;
}

void tool_unlink(struct tool_link *l)
{
    if (l->hold < 0)
        return;
    (void)close(l->hold);
    if (l->guard < 0)
        (void)unlink(l->path);
    while (l->guard > 0 && waitpid(l->guard, NULL, 0) < 0 && errno == EINTR)
        ;
    l->hold = -1;
}

void tool_path(const char *path, char argument[TOOL_PATH_SIZE])
{
    (void)snprintf(argument, TOOL_PATH_SIZE, "%s%s", *path == '/' ? "" : "./", path);
}

/* --- gemmi ------------------------------------------------------------------------------- */

/* Reads a whole file into *bytes and appends a zero byte.  The caller frees *bytes, also after an
 * error. */
static enum status read_output(int file, const char *what, char **bytes, struct error *e)
{
    struct stat st;
    if (fstat(file, &st))
        return error_errno(e, STATUS_FAILED, "%s: cannot read what gemmi wrote", what);
    const size_t size = (size_t)st.st_size;
    size_t n = 0;
    *bytes = mem_try_array(size + 1, 1);
    if (!*bytes)
        return error_memory(e, what);
    while (n < size) {
        const ssize_t got = pread(file, *bytes + n, size - n, (off_t)n);
        if (got == 0 || (got < 0 && errno != EINTR))
            return error_errno(e, STATUS_FAILED, "%s: cannot read what gemmi wrote", what);
        n += got > 0 ? (size_t)got : 0;
    }
    (*bytes)[n] = '\0';
    return STATUS_OK;
}

enum status gemmi_read(char *const argv[], int keep, const char *what, char **bytes,
                       struct error *e)
{
    char name[TOOL_NAME_SIZE], said[200];
    int output;
    struct error cause = {0};
    *bytes = NULL;
    enum status s = tool_file(what, &output, name, e);
    if (s)
        return s;
    s = tool_output(argv, keep, output, said, sizeof said, &cause);
    if (s == STATUS_INPUT)
        (void)error_set(e, s, "%s: gemmi %s: %s", what, argv[1], *said ? said : cause.text);
    else
        s = s ? error_set(e, s, "%s: %s", what, cause.text) : read_output(output, what, bytes, e);
    (void)close(output);
    return s;
}

static size_t count_lines(const char *bytes)
{
    size_t lines = 0;
    for (const char *at = bytes; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    return lines;
}

/* Splits the output of gemmi into rows at line ends and into columns at tabs.  Columns that are
 * missing in a line become empty texts. */
static enum status cut_fields(struct gemmi_table *t, const char *what, struct error *e)
{
    static const char nothing[] = "";
    const size_t lines = count_lines(t->bytes);
    t->field = mem_try_array(lines * t->columns, sizeof *t->field);
    if (!t->field)
        return error_memory(e, what);
    char *rest = t->bytes;
    for (; t->rows < lines; t->rows++) {
        char *line = strsep(&rest, "\n");
        for (size_t c = 0; c < t->columns; c++) {
            const char *field = line ? strsep(&line, "\t") : NULL;
            t->field[t->rows * t->columns + c] = field ? field : nothing;
        }
    }
    return STATUS_OK;
}

/* Exit status 1 of gemmi grep means that it found nothing.  This is not an error: the table is
 * empty. */
enum status gemmi_table_read(const char *path, int keep, const char *const *tags, const char *what,
                             struct gemmi_table *t, struct error *e)
{
    char command[] = "gemmi", grep[] = "grep", bare[] = "-b", cutter[] = "-d", tab[] = "\t",
         and[] = "-a", argument[TOOL_PATH_SIZE];
    char *argv[6 + 2 * GEMMI_COLUMNS_MAX + 2] = {command, grep, bare, cutter, tab};
    size_t n = 5;
    struct error cause = {0};
    *t = (struct gemmi_table){0};
    tool_path(path, argument);
    for (; tags[t->columns]; t->columns++) {
        if (t->columns)
            argv[n++] = and;
        argv[n++] = (char *)(uintptr_t)tags[t->columns];
    }
    argv[n] = argument;
    const enum status s = gemmi_read(argv, keep, what, &t->bytes, &cause);
    if (s == STATUS_INPUT && strstr(cause.text, "failed with status 1"))
        return STATUS_OK;
    return s ? error_set(e, s, "%s", cause.text) : cut_fields(t, what, e);
}

void gemmi_table_free(struct gemmi_table *t)
{
    mem_free(t->bytes);
    mem_free(t->field);
    *t = (struct gemmi_table){0};
}

const char *gemmi_table_text(const struct gemmi_table *t, size_t row, size_t column)
{
    return t->field[row * t->columns + column];
}

double gemmi_table_number(const struct gemmi_table *t, size_t row, size_t column)
{
    const char *text = gemmi_table_text(t, row, column);
    char *end;
    if (!*text)
        return (double)NAN;
    const double value = strtod(text, &end);
    return end != text && (!*end || *end == '(') ? value : (double)INFINITY;
}
