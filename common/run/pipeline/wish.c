/* Exchanges requests and answers through files in the private folder. */
#include "run/pipeline/wish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"

/* A new file in an NFS folder can take half a minute to appear on another host. */
enum { PATIENCE_MS = 60000, STEP_MS = 50, ANSWER_SIZE = 600 };

static const char WISH[] = "wish-", TOLD[] = "told-";

static void path_of(const char *folder, const char *kind, const char *id, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/%s%s", folder, kind, id);
}

/* Writes a file, which appears whole. */
static bool put(const char *folder, const char *kind, const char *id, const char *text)
{
    char path[PATH_MAX], hidden[PATH_MAX];
    path_of(folder, kind, id, path);
    path_of(folder, ".new-", id, hidden);
    const int file = steady_open(hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    const ssize_t size = (ssize_t)strlen(text);
    const bool written = file >= 0 && steady_write(file, text, (size_t)size) == size;
    const bool closed = file >= 0 && (close(file) == 0 || errno == EINTR);
    if (written && closed && steady_rename(hidden, path) == 0)
        return true;
    (void)unlink(hidden);
    return false;
}

/* Reads a file and removes it. */
static bool get(const char *folder, const char *kind, const char *id, char *text, int size)
{
    char path[PATH_MAX];
    path_of(folder, kind, id, path);
    const int file = steady_open(path, O_RDONLY | O_CLOEXEC, 0);
    const ssize_t length = file < 0 ? -1 : steady_read_at(file, text, (size_t)size - 1, 0);
    if (file >= 0)
        (void)close(file);
    if (length <= 0)
        return false;
    text[length] = 0;
    text[strcspn(text, "\n")] = 0;
    return unlink(path) == 0;
}

/* --- the process that asks ------------------------------------------------ */

static enum status await(const char *folder, const char *id, struct error *e)
{
    char answer[ANSWER_SIZE] = "", path[PATH_MAX];
    int status = STATUS_FAILED, at = 0;
    bool told = false, there = true;
    for (int ms = 0; ms < PATIENCE_MS && there && !told; ms += STEP_MS) {
        (void)nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
        told = get(folder, TOLD, id, answer, sizeof answer);
        there = access(folder, F_OK) == 0;
    }
    path_of(folder, WISH, id, path);
    (void)unlink(path);
    if (!told)
        return error_set(e, STATUS_FAILED,
                         there ? "the bragg-run of %.200s does not answer within 60 s"
                               : "the run of %.200s has ended",
                         folder);
    (void)sscanf(answer, "%d %n", &status, &at);
    if (status != STATUS_OK)
        return error_set(e, (enum status)status, "%s", answer + at);
    printf("%s\n", answer + at);
    return STATUS_OK;
}

enum status wish_make(const char *folder, bool remove, const char *text, struct error *e)
{
    char id[WISH_ID_SIZE], line[WISH_TEXT_SIZE + 16];
    uint64_t bits;
    if (strlen(text) >= WISH_TEXT_SIZE || strchr(text, '\n'))
        return error_set(e, STATUS_USAGE, "--%s: '%.40s...' is too long; expected STAGE=N",
                         remove ? "remove" : "add", text);
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return error_errno(e, STATUS_FAILED, "cannot get random numbers");
    (void)snprintf(id, sizeof id, "%016" PRIx64, bits);
    (void)snprintf(line, sizeof line, "%s %s", remove ? "remove" : "add", text);
    if (!put(folder, WISH, id, line))
        return error_errno(e, STATUS_FAILED, "%s", folder);
    return await(folder, id, e);
}

/* --- the run -------------------------------------------------------------- */

bool wish_take(const char *folder, struct wish *w)
{
    char line[WISH_TEXT_SIZE + 16];
    DIR *all = opendir(folder);
    bool found = false;
    for (const struct dirent *d; all && !found && (d = readdir(all));) {
        const char *id = d->d_name + strlen(WISH);
        if (strncmp(d->d_name, WISH, strlen(WISH)) != 0 || strlen(id) >= WISH_ID_SIZE)
            continue;
        (void)snprintf(w->id, sizeof w->id, "%s", id);
        found = get(folder, WISH, w->id, line, sizeof line);
    }
    if (all)
        (void)closedir(all);
    if (!found)
        return false;
    w->remove = strncmp(line, "remove ", 7) == 0;
    const char *space = strchr(line, ' ');
    (void)snprintf(w->text, sizeof w->text, "%.*s", WISH_TEXT_SIZE - 1, space ? space + 1 : "");
    return true;
}

void wish_answer(const char *folder, const struct wish *w, enum status status, const char *text)
{
    char line[ANSWER_SIZE];
    (void)snprintf(line, sizeof line, "%d %.500s", (int)status, text);
    (void)put(folder, TOLD, w->id, line);  // the other process may have ended
}
