/* Finds the hosts of a Slurm allocation, submits a run as a job, and shows its progress with
 * scontrol and the status of its source. */
#include "run/hosts/hosts.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "run/display/view.h"
#include "run/local/cleanup_guard.h"
#include "run/local/source_monitor.h"

enum { HOSTS_BYTES = 1 << 18, WORDS_SIZE = 256 };

bool slurm_is_inside(void)
{
    const char *job = getenv("SLURM_JOB_ID");
    return job && *job;
}

char *slurm_hosts(struct error *e)
{
    char *text = mem_array(HOSTS_BYTES, 1);
    FILE *in = popen("scontrol show hostnames", "re");  // expands SLURM_JOB_NODELIST
    size_t size = in ? fread(text, 1, HOSTS_BYTES - 1, in) : 0;
    const bool good = in && pclose(in) == 0;
    while (size && text[size - 1] == '\n')
        text[--size] = 0;
    for (size_t i = 0; i < size; i++)
        text[i] = text[i] == '\n' ? ',' : text[i];
    if (good && size)
        return text;
    mem_free(text);
    (void)error_set(e, STATUS_FAILED,
                    "--launcher=slurm: scontrol does not list the hosts of job %.40s",
                    getenv("SLURM_JOB_ID"));
    return NULL;
}

/* --- jobs ---------------------------------------------------------------------- */

struct job {
    const char *name;
    const char *folder;       // absolute folder where bragg-run was started
    const char *log;          // absolute path of the log of the job
    const char *options;      // options of sbatch, separated by blanks; NULL: none
    const char *const *argv;  // command line of bragg-run, ended by NULL
};

/* Rejects text that one line of the script cannot contain, or that sbatch would interpret. */
static enum status check_text(const char *what, const char *text, struct error *e)
{
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f || *c == '\\')
            return error_set(
                e, STATUS_USAGE,
                "--launcher=slurm: %s contains a line break, another control character or a "
                "backslash (got '%.200s'); expected a name without those",
                what, text);
    return STATUS_OK;
}

/* Rejects an option with a line break: sbatch would read the next line separately, even in quotes.
 */
static enum status check_word(const char *word, struct error *e)
{
    return strpbrk(word, "\n\r")
               ? error_set(e, STATUS_USAGE,
                           "--launcher=slurm: the option '%.200s' contains a line break; "
                           "expected an option in one line",
                           word)
               : STATUS_OK;
}

/* Prints a value for sbatch, in quotes if it contains other than plain characters.  In a file name
 * a percent sign is doubled, because sbatch expands patterns such as %j. */
static void print_value(const char *text, bool is_file, FILE *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./:,=@";
    const bool quoted = text[strspn(text, plain)] != 0;
    fputs(quoted ? "\"" : "", out);
    for (; *text; text++)
        fprintf(out, "%s%c", *text == '"' ? "\\" : is_file && *text == '%' ? "%" : "", *text);
    fputs(quoted ? "\"" : "", out);
}

static bool is_for_job(const char *word)
{
    return strncmp(word, "--slurm", 7) != 0 && strcmp(word, "--dry-run") != 0;
}

static bool resumes(const char *const *argv)
{
    bool found = false;
    for (; *argv; argv++)
        found |= strcmp(*argv, "--resume") == 0;
    return found;
}

static void write_script(const struct job *job, FILE *out)
{
    char self[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    fputs("#!/bin/sh\n#SBATCH --job-name=", out);
    print_value(job->name, false, out);
    fputs("\n#SBATCH --output=", out);
    print_value(job->log, true, out);
    fputs("\n#SBATCH --open-mode=append\n#SBATCH --requeue\n", out);
    for (const char *word = job->options; word && *(word += strspn(word, " \t"));) {
        const size_t size = strcspn(word, " \t");
        fprintf(out, "#SBATCH %.*s\n", (int)size, word);
        word += size;
    }
    fputs("cd ", out);
    words_print(job->folder, out);
    fputs(" || exit\n", out);
    if (!resumes(job->argv))
        fputs("[ \"${SLURM_RESTART_COUNT:-0}\" = 0 ] || again=--resume\n", out);
    fputs("exec ", out);
    words_print(self, out);
    if (!resumes(job->argv))
        fputs(" $again", out);
    for (const char *const *word = job->argv + 1; *word; word++)
        if (is_for_job(*word)) {
            putc(' ', out);
            words_print(*word, out);
        } else if (strcmp(*word, "--slurm") == 0 && word[1]) {
            word++;
        }
    putc('\n', out);
}

/* Removes the file at `path` and opens a new one for the script.  Does not follow a link, and
 * does not write to a file of another user.  NULL, with errno: failed. */
static FILE *open_script(const char *path)
{
    (void)unlink(path);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *script = file < 0 ? NULL : fdopen(file, "w");
    if (file >= 0 && !script)
        (void)close(file);
    return script;
}

/* Checks the log, to which Slurm appends.  If the log exists, it must be an ordinary file of
 * this user, because Slurm would follow a link. */
static enum status check_log(const char *log, struct error *e)
{
    struct stat st;
    return lstat(log, &st) != 0 || (S_ISREG(st.st_mode) && st.st_uid == geteuid())
               ? STATUS_OK
               : error_set(e, STATUS_FAILED,
                           "%s: not an ordinary file of this user. Remove it, or use another "
                           "--workdir",
                           log);
}

static bool has_number(const char *words)
{
    return words[strcspn(words, "0123456789")] != 0;
}

/* Writes the script to `path` and passes it to sbatch.  Prints the last line of sbatch,
 * "Submitted batch job 12", to stdout, and copies the line to `last`. */
static enum status submit(const struct job *job, const char *path, char last[WORDS_SIZE],
                          struct error *e)
{
    char line[WORDS_SIZE] = "";
    last[0] = 0;
    FILE *script = open_script(path);
    if (!script)
        return error_errno(e, STATUS_FAILED, "%s: cannot create this file", path);
    write_script(job, script);
    if (fclose(script) != 0)
        return error_errno(e, STATUS_FAILED, "%s", path);
    (void)setenv("BRAGG_SBATCH", path, 1);
    FILE *said = popen("sbatch \"$BRAGG_SBATCH\" 2>&1", "re");
    while (said && fgets(line, sizeof line, said)) {
        line[strcspn(line, "\n")] = 0;
        if (*line)
            memcpy(last, line, sizeof line);
    }
    const int ended = said ? pclose(said) : -1;
    if (ended != 0)
        return error_set(e, STATUS_FAILED, "--launcher=slurm: %.200s",
                         *last ? last : "sbatch failed without a message");
    if (!has_number(last))
        return error_set(e, STATUS_FAILED,
                         "--launcher=slurm: sbatch gave no job number (got '%.200s'); expected "
                         "'Submitted batch job N'. squeue shows whether there is a job",
                         last);
    printf("%s\n", last);
    (void)fflush(stdout);
    return STATUS_OK;
}

/* Replaces the line of sbatch by the job number in it; "": the line has no number. */
static void keep_number(char *words)
{
    const char *digits = words + strcspn(words, "0123456789");
    const size_t length = strspn(digits, "0123456789");
    memmove(words, digits, length);
    words[length] = 0;
}

/* --- progress of a job --------------------------------------------------------- */

static const uint64_t ASK_NS = UINT64_C(2000000000), LOOK_NS = UINT64_C(500000000);
enum { WAIT_MS = 200, STATE_SIZE = 32, OUTPUT_SIZE = 4096, SILENT_MAX = 5 };

/* State of the progress display of a job. */
struct job_display {
    const char *job, *dir;
    struct bar bar;
    struct source_monitor monitor;
    char endpoint[ENDPOINT_SIZE], keys[PATH_MAX];
    bool found;              // the endpoint of its source is known
    int signals;             // signalfd
    char state[STATE_SIZE];  // state of the job from scontrol; "": not known yet
    unsigned silent;         // number of requests in a row that scontrol did not answer
    uint64_t asked_ns;
};

/* Runs `command` followed by the job number, and copies the first line of its output to `line`;
 * "": there is no output. */
static void run_command(const struct job_display *f, const char *command, char *line, size_t size)
{
    char text[256];
    (void)snprintf(text, sizeof text, "%s%s 2>/dev/null", command, f->job);
    FILE *in = popen(text, "re");
    *line = 0;
    if (in && !fgets(line, (int)size, in))
        *line = 0;
    line[strcspn(line, "\n")] = 0;
    if (in)
        (void)pclose(in);
}

/* Updates the state of the job from scontrol, at most once per ASK_NS.  Keeps the state if
 * scontrol does not know the job any more. */
static void ask_state(struct job_display *f, uint64_t now_ns)
{
    static const char key[] = "JobState=";
    char line[OUTPUT_SIZE], state[STATE_SIZE];
    if (f->asked_ns && now_ns - f->asked_ns < ASK_NS)
        return;
    f->asked_ns = now_ns;
    run_command(f, "scontrol show job -o ", line, sizeof line);
    const char *found = strstr(line, key);
    f->silent = found ? 0 : f->silent + 1;
    if (!found)
        return;
    found += sizeof key - 1;
    (void)snprintf(state, sizeof state, "%.*s", (int)strcspn(found, " "), found);
    if (strcmp(state, f->state) != 0 && strcmp(state, "COMPLETING") != 0)
        bar_say(&f->bar, "bragg-run: job %s is %s", f->job, state);
    memcpy(f->state, state, sizeof state);
}

static bool is_over(const struct job_display *f)
{
    static const char *const going[] = {"PENDING",   "RUNNING",  "COMPLETING", "CONFIGURING",
                                        "SUSPENDED", "RESIZING", "REQUEUED",   "STOPPED",
                                        "SIGNALING", "STAGE_OUT"};
    bool goes = !*f->state;
    for (size_t i = 0; i < sizeof going / sizeof *going; i++)
        goes |= strcmp(f->state, going[i]) == 0;
    return !goes || f->silent > SILENT_MAX;
}

/* Finds the source of the run and begins to observe it, if the job is running.  Slurm may have
 * started the job again, so the source may be a new one. */
static void find_source(struct job_display *f)
{
    char name[FIND_NAME_SIZE];
    struct error ignored;
    if (f->found || strcmp(f->state, "RUNNING") != 0 ||
        find_run(f->dir, f->endpoint, name, &ignored) != STATUS_OK)
        return;
    f->found = true;
    source_monitor_open(&f->monitor, f->dir, f->endpoint,
                        find_run_keys(f->dir, f->keys) ? f->keys : NULL);
}

static void show_progress(struct job_display *f, uint64_t now_ns)
{
    struct run_status r;
    find_source(f);
    if (f->found) {
        source_monitor_ask(&f->monitor, LOOK_NS, now_ns);
        while (source_monitor_take(&f->monitor, &r))
            bar_show(&f->bar, &r, now_ns);
    }
    if (f->found && (f->monitor.ended || strcmp(f->state, "RUNNING") != 0)) {
        source_monitor_close(&f->monitor);
        f->found = false;
    }
    if (f->found && f->monitor.connected)
        source_monitor_wait(&f->monitor, WAIT_MS);
    else
        (void)usleep(WAIT_MS * 1000);
}

/* Asks the user, after Ctrl-C, whether to cancel the job.  Returns true if the answer is yes. */
static bool wants_end(const struct job_display *f)
{
    char answer[OUTPUT_SIZE] = "";
    fprintf(stderr,
            "\nbragg-run: cancel job %s? Otherwise it continues without this program. [y/N] ",
            f->job);
    return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

static enum status interrupted(struct job_display *f)
{
    char said[OUTPUT_SIZE];
    bar_close(&f->bar);
    if (!wants_end(f)) {
        fprintf(stderr,
                "bragg-run: the job continues. 'bragg-top %s' shows its progress, 'scancel %s' "
                "ends it\n",
                f->dir, f->job);
        return STATUS_OK;
    }
    run_command(f, "scancel ", said, sizeof said);
    return STATUS_INTERRUPTED;
}

static void read_last_line(const char *path, char *last)
{
    char line[OUTPUT_SIZE];
    FILE *in = fopen(path, "re");
    *last = 0;
    while (in && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = 0;
        if (*line)
            memcpy(last, line, sizeof line);
    }
    if (in)
        (void)fclose(in);
}

static enum status result_of_job(const struct job_display *f, const char *log, struct error *e)
{
    char last[OUTPUT_SIZE];
    if (strcmp(f->state, "COMPLETED") == 0)
        return STATUS_OK;
    read_last_line(log, last);
    return error_set(e, STATUS_FAILED, "job %s %s; %.200s ends with: %.200s", f->job,
                     f->silent > SILENT_MAX ? "is unknown to scontrol" : "failed", log, last);
}

/* Shows the progress of job number `job`, which runs in the folder `dir`, on the terminal.  Ctrl-C
 * asks whether to cancel the job.  If not, the job continues and STATUS_OK is returned.
 * STATUS_INTERRUPTED: the job was cancelled.
 * STATUS_FAILED: the job failed; the error has its state and the last line of `log`. */
static enum status show_job(const char *job, const char *dir, const char *log, struct error *e)
{
    struct signalfd_siginfo info;
    struct job_display f = {.job = job, .dir = dir};
    sigset_t mine, before;
    (void)sigemptyset(&mine);
    (void)sigaddset(&mine, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &mine, &before);
    f.signals = signalfd(-1, &mine, SFD_CLOEXEC | SFD_NONBLOCK);
    enum status s =
        f.signals < 0 ? error_errno(e, STATUS_FAILED, "cannot receive signals") : STATUS_OK;
    bar_open(&f.bar, true);
    bool stopped = false;
    while (!s && !stopped) {
        const uint64_t now_ns = clock_ns();
        ask_state(&f, now_ns);
        if (is_over(&f))
            break;
        show_progress(&f, now_ns);
        stopped = read(f.signals, &info, sizeof info) == (ssize_t)sizeof info;
    }
    if (!s)
        s = stopped ? interrupted(&f) : (bar_close(&f.bar), result_of_job(&f, log, e));
    if (f.found)
        source_monitor_close(&f.monitor);
    if (f.signals >= 0)
        (void)close(f.signals);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return s;
}

/* --- submission ---------------------------------------------------------------- */

enum status slurm_begin(const char *path, const char *workdir, const char *options,
                        const char *const *argv, bool dry, bool follow, struct error *e)
{
    char words[WORDS_SIZE];
    char here[PATH_MAX], dir[2 * PATH_MAX], log[sizeof dir + 16], script[sizeof dir + 20];
    int made = 0;
    const char *slash = strrchr(path, '/');
    if (!getcwd(here, sizeof here))
        return error_errno(e, STATUS_FAILED, "cannot find the working folder");
    const char *given = workdir ? workdir : here;
    (void)snprintf(dir, sizeof dir, "%s%s%s", *given == '/' ? "" : here, *given == '/' ? "" : "/",
                   given);
    (void)snprintf(log, sizeof log, "%s/bragg-run.log", dir);
    (void)snprintf(script, sizeof script, "%s/bragg-run.sbatch", dir);
    const struct job job = {.name = slash ? slash + 1 : path,
                            .folder = here,
                            .log = log,
                            .options = options,
                            .argv = argv};
    enum status s = check_text("the name of the pipeline file", job.name, e);
    if (s == STATUS_OK)
        s = check_text("the working folder", here, e);
    if (s == STATUS_OK)
        s = check_text("--workdir", dir, e);
    if (s == STATUS_OK && options)
        s = check_text("--slurm", options, e);
    for (const char *const *word = argv; *word && s == STATUS_OK; word++)
        s = check_word(*word, e);
    if (s)
        return s;
    if (dry) {
        write_script(&job, stdout);
        return STATUS_OK;
    }
    s = workdir_make(dir, &made, e);
    if (s == STATUS_OK)
        s = check_log(log, e);
    if (s == STATUS_OK)
        s = submit(&job, script, words, e);
    if (s == STATUS_OK) {
        keep_number(words);
        return follow && *words ? show_job(words, dir, log, e) : s;
    }
    (void)unlink(script);
    workdir_remove(dir, made);
    return s;
}
