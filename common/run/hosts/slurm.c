/* Submits a run as a Slurm job. */
#include "run/hosts/slurm.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "run/display/follow.h"
#include "run/hosts/workdir.h"

enum { HOSTS_BYTES = 1 << 18, WORDS_SIZE = 256 };

bool slurm_is_inside(void)
{
    const char *job = getenv("SLURM_JOB_ID");
    return job && *job;
}

char *slurm_hosts(struct error *e)
{
    char *text = mem_array(HOSTS_BYTES, 1);
    FILE *in = text ? popen("scontrol show hostnames", "re") : NULL;  // expands SLURM_JOB_NODELIST
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

/* --- jobs ---------------------------------------------------------------- */

struct job {
    const char *name;
    const char *folder;       // absolute folder where bragg-run was started
    const char *log;          // absolute path of its log
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

/* Replaces the script.  A link is not followed, and a file of another user is not written. */
static FILE *open_script(const char *path)
{
    (void)unlink(path);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *script = file < 0 ? NULL : fdopen(file, "w");
    if (file >= 0 && !script)
        (void)close(file);
    return script;
}

/* Checks the existing log, to which Slurm appends.  It must be an ordinary file of this user,
 * because Slurm would follow a link. */
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

/* Runs sbatch.  Its last line, "Submitted batch job 12", is printed to stdout and copied to `last`.
 */
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

/* Reduces the line of sbatch to the job number; "": it has none. */
static void keep_number(char *words)
{
    const char *digits = words + strcspn(words, "0123456789");
    const size_t length = strspn(digits, "0123456789");
    memmove(words, digits, length);
    words[length] = 0;
}

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
        return follow && *words ? follow_job(words, dir, log, e) : s;
    }
    (void)unlink(script);
    workdir_remove(dir, made);
    return s;
}
