#include "link/keys.h"

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

enum {
    FILE_MAX = 4096,                // bytes
    KEY_PATH_SIZE = PATH_MAX + 32,  // folders have shorter names
};

/* A folder or file of ours; `forbidden` are permissions that nobody may have. */
static enum status check_access(const struct stat *what, const char *path, mode_t forbidden,
                                struct error *e)
{
    if (what->st_uid != geteuid())
        return error_set(e, STATUS_USAGE, "%s: belongs to somebody else (user %u), must be yours",
                         path, (unsigned)what->st_uid);
    if (what->st_mode & forbidden)
        return error_set(e, STATUS_USAGE, "%s: others can %s it (mode %04o): say chmod go-rwx",
                         path, forbidden & S_IROTH ? "read" : "change",
                         (unsigned)what->st_mode & 07777u);
    return STATUS_OK;
}

/* The text of a file of at most FILE_MAX - 1 bytes. */
static enum status read_text(const char *path, bool secret, char text[FILE_MAX], struct error *e)
{
    struct stat what;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return error_errno(e, STATUS_FAILED, "%s", path);
    enum status s = STATUS_OK;
    ssize_t size = -1;
    if (fstat(file, &what) != 0 || !S_ISREG(what.st_mode))
        s = error_set(e, STATUS_INPUT, "%s: is no file", path);
    else
        s = check_access(&what, path, secret ? 077 : 022, e);
    if (s == STATUS_OK && (size = read(file, text, FILE_MAX)) < 0)
        s = error_errno(e, STATUS_FAILED, "%s", path);
    (void)close(file);
    if (s == STATUS_OK && size == FILE_MAX)
        s = error_set(e, STATUS_INPUT, "%s: longer than %d bytes: no key", path, FILE_MAX - 1);
    text[s ? 0 : size] = 0;
    return s;
}

/* The value of a line `NAME = "VALUE"`. */
static enum status take_key(const char *text, const char *name, const char *path,
                            char key[KEY_SIZE], struct error *e)
{
    unsigned char binary[32];
    const size_t length = strlen(name);
    int number = 1, end = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *at = line + strspn(line, " \t");
        if (strncmp(at, name, length) == 0 && strchr(" \t=", at[length])) {
            if (sscanf(at + length, " = \"%40[^\"\n]\"%n", key, &end) == 1 && end &&
                strlen(key) == KEY_SIZE - 1 && zmq_z85_decode(binary, key))
                return STATUS_OK;
            return error_set(e, STATUS_INPUT,
                             "%s:%d: must be %s = \"KEY\" with 40 characters of Z85", path, number,
                             name);
        }
        number++;
    }
    return error_set(e, STATUS_INPUT, "%s: no line %s = \"KEY\": must be a key file of ZeroMQ",
                     path, name);
}

/* FOLDER/NAME.key or .key_secret. */
static void name_file(char path[KEY_PATH_SIZE], const char *folder, const char *name, bool secret)
{
    (void)snprintf(path, KEY_PATH_SIZE, "%s/%s.key%s", folder, name, secret ? "_secret" : "");
}

static bool is_missing(const char *folder, const char *name, bool secret)
{
    char path[KEY_PATH_SIZE];
    name_file(path, folder, name, secret);
    return access(path, F_OK) != 0 && errno == ENOENT;
}

/* A public key, or both, which must be a pair. */
static enum status read_pair(const char *folder, const char *name, bool secret,
                             struct key_pair *pair, struct error *e)
{
    char path[KEY_PATH_SIZE], text[FILE_MAX], derived[KEY_SIZE];
    name_file(path, folder, name, secret);
    enum status s = read_text(path, secret, text, e);
    if (s == STATUS_OK)
        s = take_key(text, "public-key", path, pair->public_key, e);
    if (s == STATUS_OK && secret)
        s = take_key(text, "secret-key", path, pair->secret_key, e);
    explicit_bzero(text, sizeof text);
    if (s == STATUS_OK && secret &&
        (zmq_curve_public(derived, pair->secret_key) != 0 ||
         strcmp(derived, pair->public_key) != 0))
        s = error_set(e, STATUS_INPUT, "%s: the public key is not that of the secret one", path);
    return s;
}

/* Likewise for a public key; nothing happens when there is no such file. */
static enum status read_public(const char *folder, const char *name, char key[KEY_SIZE],
                               struct error *e)
{
    struct key_pair pair = {0};
    if (is_missing(folder, name, false))
        return STATUS_OK;
    const enum status s = read_pair(folder, name, false, &pair, e);
    memcpy(key, pair.public_key, KEY_SIZE);
    return s;
}

static enum status check_folder(const char *folder, struct error *e)
{
    struct stat what;
    if (!zmq_has("curve"))
        return error_set(e, STATUS_FAILED, "the ZeroMQ library of this machine has no keys");
    if (stat(folder, &what) != 0)
        return error_errno(e, STATUS_FAILED, "%s", folder);
    if (!S_ISDIR(what.st_mode))
        return error_set(e, STATUS_USAGE,
                         "%s: must be a folder with keys, as by bragg-run "
                         "--make-keys",
                         folder);
    return check_access(&what, folder, 077, e);
}

enum status keys_read(struct keys *k, const char *folder, enum keys_role role, struct error *e)
{
    *k = (struct keys){0};
    enum status s = check_folder(folder, e);
    const bool binds =
        role == KEYS_SERVE || (role == KEYS_STAGE && !is_missing(folder, "server", true));
    if (s == STATUS_OK)
        s = read_pair(folder, "server", binds, &k->server, e);
    if (s == STATUS_OK && role != KEYS_SERVE)
        s = read_pair(folder, role == KEYS_WATCH ? "watcher" : "client", true, &k->own, e);
    if (s == STATUS_OK && binds)
        s = read_public(folder, "client", k->client, e);
    if (s == STATUS_OK && binds && role == KEYS_STAGE)
        s = read_public(folder, "watcher", k->watcher, e);
    if (s)
        explicit_bzero(k, sizeof *k);
    return s;
}

static const char *const names[] = {"server", "client", "watcher"};
enum { NAMES = sizeof names / sizeof *names };

static enum status write_file(const char *folder, const char *name, const struct key_pair *pair,
                              struct error *e)
{
    char path[KEY_PATH_SIZE];
    const bool secret = pair->secret_key[0];
    name_file(path, folder, name, secret);
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
    char path[KEY_PATH_SIZE];
    for (size_t i = 0; i < NAMES; i++)
        for (int secret = 0; secret < 2; secret++) {
            name_file(path, folder, names[i], secret);
            (void)unlink(path);
        }
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
