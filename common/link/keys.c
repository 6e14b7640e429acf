/* Reads and makes the key files of a run, and guards ZeroMQ sockets with the keys. */
#include "link/keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "base/log.h"
#include "base/program.h"
#include "link/endpoint.h"

enum {
    FILE_MAX = 4096,                // bytes
    KEY_PATH_SIZE = PATH_MAX + 32,  // a path longer than PATH_MAX cannot be opened
};

/* Checks that a folder or file belongs to this user, and that none of the `forbidden` permissions
 * is set. */
static enum status check_access(const struct stat *what, const char *path, mode_t forbidden,
                                struct error *e)
{
    if (what->st_uid != geteuid())
        return error_set(e, STATUS_USAGE,
                         "%s: belongs to another user (%u); expected a file of this user", path,
                         (unsigned)what->st_uid);
    if (what->st_mode & forbidden)
        return error_set(e, STATUS_USAGE,
                         "%s: other users can %s it (got mode %04o). Use chmod go-rwx", path,
                         forbidden & S_IROTH ? "read" : "change", (unsigned)what->st_mode & 07777u);
    return STATUS_OK;
}

/* Reads the text of a file of at most FILE_MAX - 1 bytes.  `secret`: other users must not have
 * access to the file; else they must not be able to write to it. */
static enum status read_text(const char *path, bool secret, char text[FILE_MAX], struct error *e)
{
    struct stat what;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return error_errno(e, STATUS_FAILED, "%s", path);
    enum status s = STATUS_OK;
    ssize_t size = -1;
    if (fstat(file, &what) != 0 || !S_ISREG(what.st_mode))
        s = error_set(e, STATUS_INPUT, "%s: not an ordinary file", path);
    else
        s = check_access(&what, path, secret ? 077 : 022, e);
    if (s == STATUS_OK && (size = read(file, text, FILE_MAX)) < 0)
        s = error_errno(e, STATUS_FAILED, "%s", path);
    (void)close(file);
    if (s == STATUS_OK && size == FILE_MAX)
        s = error_set(e, STATUS_INPUT, "%s: too long for a key; expected at most %d bytes", path,
                      FILE_MAX - 1);
    text[s ? 0 : size] = 0;
    return s;
}

/* Finds the line `NAME = "KEY"` in the text of a file, and copies the key. */
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
                             "%s:%d: not a key; expected %s = \"KEY\" with 40 characters of Z85",
                             path, number, name);
        }
        number++;
    }
    return error_set(e, STATUS_INPUT, "%s: no line %s = \"KEY\"; expected a key file of ZeroMQ",
                     path, name);
}

/* Makes the path of a key file: FOLDER/NAME.key, or FOLDER/NAME.key_secret if `secret`. */
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

/* Reads a public key, and the secret key as well if `secret`.  The two must be a pair. */
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
        s = error_set(e, STATUS_INPUT, "%s: the public key does not belong to the secret key",
                      path);
    return s;
}

/* Reads the public key in FOLDER/NAME.key.  Leaves `key` unchanged if the file does not exist. */
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
        return error_set(e, STATUS_FAILED,
                         "the ZeroMQ library of this machine has no encryption (CURVE)");
    if (stat(folder, &what) != 0)
        return error_errno(e, STATUS_FAILED, "%s", folder);
    if (!S_ISDIR(what.st_mode))
        return error_set(e, STATUS_USAGE,
                         "%s: not a folder; expected the folder of bragg-run --make-keys", folder);
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
            secret ? "Secret" : "Public", secret ? ": do not give it to anyone" : "",
            pair->public_key);
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

/* Makes the folder, or checks that an existing folder is empty.  Sets *made if the folder is
 * new. */
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
        s = error_set(e, STATUS_USAGE,
                      "%s is not empty; expected a new or empty folder for the keys", path);
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
        return error_set(e, STATUS_FAILED,
                         "the ZeroMQ library of this machine has no encryption (CURVE)");
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);  // a signal must not leave half of the files
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

/* --- sockets that the keys guard --------------------------------------------------------- */

/* curve_verdict: the keys are presumed to be the cause if this many connections have failed, for
 * longer than this time.  FOREIGN_* hold if the peer gave a reason, FAILURES_* if not.  A single
 * failure may have another cause: a network can cut a connection, and a relay can accept a
 * connection although the process behind the relay does not run. */
enum { FOREIGN_MIN = 3, FAILURES_MIN = 5 };
static const uint64_t FOREIGN_NS = UINT64_C(1000000000), FAILURES_NS = UINT64_C(10000000000);
static const uint64_t SETTLED_NS = UINT64_C(500000000);

enum status curve_open(struct curve *c, const char *folder, bool insecure, enum keys_role role,
                       struct error *e)
{
    *c = (struct curve){.keyed = folder != NULL, .insecure = insecure};
    return folder ? keys_read(&c->keys, folder, role, e) : STATUS_OK;
}

void curve_close(struct curve *c)
{
    explicit_bzero(c, sizeof *c);
}

static bool set_text(void *socket, int option, const char *text)
{
    return zmq_setsockopt(socket, option, text, strlen(text) + 1) == 0;
}

static bool set_int(void *socket, int option, int value)
{
    return zmq_setsockopt(socket, option, &value, sizeof value) == 0;
}

bool curve_serve(void *socket, const char *secret)
{
    static const char domain[] = "bragg";
    return set_int(socket, ZMQ_CURVE_SERVER, 1) && set_text(socket, ZMQ_CURVE_SECRETKEY, secret) &&
           zmq_setsockopt(socket, ZMQ_ZAP_DOMAIN, domain, strlen(domain)) == 0;
}

bool curve_connect(void *socket, const struct keys *k)
{
    return set_text(socket, ZMQ_CURVE_SERVERKEY, k->server.public_key) &&
           set_text(socket, ZMQ_CURVE_PUBLICKEY, k->own.public_key) &&
           set_text(socket, ZMQ_CURVE_SECRETKEY, k->own.secret_key);
}

static void warn(const char *endpoint)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&said))
        log_line(LOG_WARNING,
                 "--insecure: %s has no keys. Any process that can reach it can read, take and "
                 "forge frames",
                 endpoint);
}

enum status curve_guard(const struct curve *c, void *socket, bool bind, const char *endpoint,
                        struct error *e)
{
    if (!endpoint_is_network(endpoint))
        return STATUS_OK;
    if (!c->keyed) {
        const enum status s = endpoint_check(endpoint, bind, c->insecure, e);
        if (s == STATUS_OK)
            warn(endpoint);
        return s;
    }
    if (bind && !c->keys.server.secret_key[0])
        return error_set(e, STATUS_USAGE,
                         "%s: a process that binds needs server.key_secret in the folder of "
                         "--keys. Without this file, connect instead",
                         endpoint);
    if (bind ? curve_serve(socket, c->keys.server.secret_key) : curve_connect(socket, &c->keys))
        return STATUS_OK;
    return error_set(e, STATUS_FAILED, "%s: cannot use the keys: %s", endpoint,
                     zmq_strerror(errno));
}

/* The parts of a question of libzmq, in their order (ZeroMQ RFC 27). */
enum { VERSION, REQUEST, DOMAIN, ADDRESS, IDENTITY, MECHANISM, KEY, PARTS };

struct question {
    size_t nparts;
    struct text {
        size_t size;
        uint8_t bytes[256];
    } parts[PARTS];
};

/* Waits for a question of libzmq.  Cuts a part that is too long.  Returns false if the context
 * ends. */
static bool receive(void *socket, struct question *q)
{
    int more = 1;
    size_t size = sizeof more;
    for (q->nparts = 0; more; q->nparts++) {
        struct text *part = &q->parts[q->nparts < PARTS ? q->nparts : PARTS - 1];
        int got;
        do
            got = zmq_recv(socket, part->bytes, sizeof part->bytes, 0);
        while (got < 0 && errno == EINTR);
        if (got < 0 || zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size) != 0)
            return false;
        part->size = (size_t)got < sizeof part->bytes ? (size_t)got : sizeof part->bytes;
    }
    return true;
}

static bool is_text(const struct question *q, size_t part, const char *text)
{
    return q->parts[part].size == strlen(text) &&
           memcmp(q->parts[part].bytes, text, strlen(text)) == 0;
}

/* Returns the name under which libzmq reports the key in a question: ZAP_CLIENT or ZAP_WATCHER.
 * NULL: the key is not accepted. */
static const char *find_user(const struct zap *z, const struct question *q)
{
    enum { KEY_BYTES = 32 };
    char key[KEY_SIZE];
    if (q->nparts != PARTS || !is_text(q, MECHANISM, "CURVE") || q->parts[KEY].size != KEY_BYTES)
        return NULL;
    (void)zmq_z85_encode(key, q->parts[KEY].bytes, KEY_BYTES);
    return strcmp(key, z->client) == 0    ? ZAP_CLIENT
           : strcmp(key, z->watcher) == 0 ? ZAP_WATCHER
                                          : NULL;
}

static void answer_question(void *socket, const struct question *q, const char *user)
{
    const char *const words[] = {user ? "200" : "400", user ? "OK" : "no good key",
                                 user ? user : ""};
    (void)zmq_send(socket, "1.0", 3, ZMQ_SNDMORE);
    (void)zmq_send(socket, q->parts[REQUEST].bytes, q->parts[REQUEST].size, ZMQ_SNDMORE);
    for (size_t i = 0; i < 3; i++)
        (void)zmq_send(socket, words[i], strlen(words[i]), ZMQ_SNDMORE);
    (void)zmq_send(socket, "", 0, 0);
}

static void *run_zap(void *zap)
{
    struct zap *z = zap;
    struct question q;
    while (receive(z->socket, &q))
        answer_question(z->socket, &q, find_user(z, &q));
    (void)zmq_close(z->socket);
    return NULL;
}

/* Starts the thread with all signals blocked, because other threads handle signals. */
static enum status start_thread(struct zap *z, struct error *e)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    errno = program_thread(&z->thread, NULL, run_zap, z);
    z->runs = errno == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return z->runs ? STATUS_OK : error_errno(e, STATUS_FAILED, "cannot start a thread");
}

enum status zap_open(struct zap *z, void *context, const struct keys *keys, struct error *e)
{
    memcpy(z->client, keys->client, sizeof z->client);
    memcpy(z->watcher, keys->watcher, sizeof z->watcher);
    z->socket = zmq_socket(context, ZMQ_REP);
    if (!z->socket)
        return error_set(e, STATUS_FAILED, "cannot make a socket: %s", zmq_strerror(errno));
    enum status s = STATUS_OK;
    if (zmq_bind(z->socket, "inproc://zeromq.zap.01") != 0)
        s = error_set(e, STATUS_FAILED, "cannot start the check of keys: %s", zmq_strerror(errno));
    if (s == STATUS_OK)
        s = start_thread(z, e);
    if (s)
        (void)zmq_close(z->socket);
    return s;
}

void *zap_open_context(struct zap *z, const struct keys *keys, struct error *e)
{
    void *context = zmq_ctx_new();
    if (!context) {
        (void)error_memory(e, "sockets");
        return NULL;
    }
    if (zap_open(z, context, keys, e) == STATUS_OK)
        return context;
    (void)zmq_ctx_term(context);
    return NULL;
}

void zap_close(struct zap *z)
{
    if (z->runs)
        (void)pthread_join(z->thread, NULL);
    z->runs = false;
}

const char *curve_suspicion(const struct curve *c, const struct trial *t)
{
    if (t->failed > t->broken)
        return c->keyed ? "the other end does not use keys"
                        : "the other end requires keys. Use --keys=DIR";
    if (!t->failed || t->admitted)
        return NULL;
    return c->keyed
               ? "every connection ends before both ends agree on keys. Are the keys those of this "
                 "run?"
               : "every connection ends at once. Does the other end require keys (--keys=DIR)?";
}

const char *curve_verdict(const struct curve *c, struct trial *t, uint64_t now_ns)
{
    if (t->denied)
        return "the keys of this process are refused";
    if (!t->failed || !t->failing_ns)
        t->failing_ns = now_ns;
    const uint64_t lasts_ns = now_ns - t->failing_ns;
    const bool sure = t->failed > t->broken
                          ? t->failed - t->broken >= FOREIGN_MIN && lasts_ns > FOREIGN_NS
                          : c->keyed && t->failed >= FAILURES_MIN && lasts_ns > FAILURES_NS;
    return sure ? curve_suspicion(c, t) : NULL;
}

/* libzmq does not report which handshakes of a bound socket fail.  A handshake takes a moment only.
 * Therefore the smallest number of connections that were open without a successful handshake,
 * during SETTLED_NS, is the number of connections without an accepted key. */
unsigned curve_refused(struct trial *t, uint64_t now_ns)
{
    const unsigned open = t->accepted - t->admitted - t->refused;
    t->open = open < t->open ? open : t->open;
    if (now_ns < t->settled_ns + SETTLED_NS)
        return 0;
    const unsigned more = t->settled_ns ? t->open : 0;
    t->settled_ns = now_ns;
    t->refused += more;
    t->open = open - more;
    return more;
}
