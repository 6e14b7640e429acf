/* Three new pairs of keys in a folder. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "link/keys.h"

static const char *const names[] = {"server", "client", "watcher"};
enum { NAMES = sizeof names / sizeof *names };

static enum status write_file(const char *folder, const char *name, const struct key_pair *pair,
                              struct error *e)
{
    char path[PATH_MAX];
    const bool secret = pair->secret_key[0];
    if (snprintf(path, sizeof path, "%s/%s.key%s", folder, name, secret ? "_secret" : "") >=
        (int)sizeof path)
        return error_set(e, STATUS_USAGE, "%.200s: the name is too long", folder);
    const int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out)
        return error_errno(e, STATUS_FAILED, "%s", path);
    fprintf(out, "# %s key of braggpipe, for ZeroMQ CURVE%s\ncurve\n    public-key = \"%s\"\n",
            secret ? "Secret" : "Public", secret ? ": give it to nobody" : "", pair->public_key);
    if (secret)
        fprintf(out, "    secret-key = \"%s\"\n", pair->secret_key);
    const bool bad = ferror(out) || fflush(out) != 0;
    return fclose(out) != 0 || bad ? error_errno(e, STATUS_FAILED, "%s", path) : STATUS_OK;
}

static enum status write_pair(const char *folder, const char *name, struct error *e)
{
    struct key_pair pair = {0};
    if (zmq_curve_keypair(pair.public_key, pair.secret_key) != 0)
        return error_set(e, STATUS_FAILED, "cannot make keys: %s", zmq_strerror(errno));
    enum status s = write_file(folder, name, &pair, e);
    explicit_bzero(pair.secret_key, sizeof pair.secret_key);
    return s ? s : write_file(folder, name, &pair, e);
}

static bool is_empty(DIR *folder)
{
    const struct dirent *entry;
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            return false;
    return true;
}

/* Makes the folder, or takes an empty one. */
static enum status open_folder(const char *path, bool *made, struct error *e)
{
    *made = mkdir(path, 0700) == 0;
    if (!*made && errno != EEXIST)
        return error_errno(e, STATUS_FAILED, "cannot make the folder %s", path);
    DIR *folder = opendir(path);
    if (!folder)
        return error_errno(e, STATUS_FAILED, "%s", path);
    enum status s = STATUS_OK;
    if (!is_empty(folder))
        s = error_set(e, STATUS_USAGE, "%s: is not empty: keys go into a folder of their own",
                      path);
    else if (fchmod(dirfd(folder), 0700) != 0)
        s = error_errno(e, STATUS_FAILED, "%s", path);
    (void)closedir(folder);
    return s;
}

static void remove_all(const char *folder, bool made)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < NAMES; i++)
        for (int secret = 0; secret < 2; secret++)
            if (snprintf(path, sizeof path, "%s/%s.key%s", folder, names[i],
                         secret ? "_secret" : "") < (int)sizeof path)
                (void)unlink(path);
    if (made)
        (void)rmdir(folder);
}

enum status keys_make(const char *folder, struct error *e)
{
    sigset_t all, before;
    bool made;
    if (!zmq_has("curve"))
        return error_set(e, STATUS_FAILED, "the ZeroMQ library of this machine has no keys");
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);  // no half of it is left behind
    enum status s = open_folder(folder, &made, e);
    if (s == STATUS_OK) {
        for (size_t i = 0; i < NAMES && s == STATUS_OK; i++)
            s = write_pair(folder, names[i], e);
        if (s)
            remove_all(folder, made);
    }
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return s;
}
