#include "link/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/program.h"

enum { SOCKET_PATH_MAX = 107 };

static const char *ipc_path(const char *endpoint)
{
    return strncmp(endpoint, "ipc://", 6) == 0 ? endpoint + 6 : NULL;
}

/* Returns true for an address that only this host can reach: "127.0.0.1:PORT", "localhost:PORT" or
 * "[::1]:PORT". */
static bool is_loopback(const char *host)
{
    const size_t digits = strspn(host, "0123456789.");
    return (strncmp(host, "127.", 4) == 0 && host[digits] == ':') ||
           strncmp(host, "localhost:", 10) == 0 || strncmp(host, "[::1]:", 6) == 0;
}

bool endpoint_is_local(const char *endpoint)
{
    return ipc_path(endpoint) || is_loopback(endpoint + strlen("tcp://"));
}

bool endpoint_is_network(const char *endpoint)
{
    return strncmp(endpoint, "tcp://", 6) == 0;
}

void endpoint_resolve(char endpoint[ENDPOINT_SIZE], const char *via)
{
    const char *port = strrchr(endpoint, ':'), *end = strrchr(via, ':');
    if ((strncmp(endpoint, "tcp://0.0.0.0:", 14) != 0 &&
         strncmp(endpoint, "tcp://[::]:", 11) != 0) ||
        !endpoint_is_network(via))
        return;
    char resolved[ENDPOINT_SIZE];
    if (snprintf(resolved, sizeof resolved, "%.*s%s", (int)(end - via), via, port) < ENDPOINT_SIZE)
        memcpy(endpoint, resolved, sizeof resolved);
}

/* Returns true if the port of a tcp endpoint is valid.  libzmq does not check this: it uses any
 * number modulo 65536. */
static bool port_is_good(const char *name, bool bind)
{
    const char *port = strrchr(name, ':') + 1;
    const size_t digits = strspn(port, "0123456789");
    if (bind && strcmp(port, "*") == 0)
        return true;
    if (!digits || digits > 5 || port[digits])
        return false;
    const long number = strtol(port, NULL, 10);
    return number >= !bind && number <= UINT16_MAX;
}

enum status endpoint_check(const char *name, bool bind, bool tcp, struct error *e)
{
    const char *path = ipc_path(name);
    if (strlen(name) >= ENDPOINT_SIZE || strpbrk(name, " \t\n"))
        return error_set(
            e, STATUS_USAGE,
            "endpoint '%.80s' is too long or has blanks; expected ipc:///PATH or tcp://HOST:PORT",
            name);
    if (!path && !endpoint_is_network(name))
        return error_set(
            e, STATUS_USAGE,
            "endpoint '%.80s' has an unsupported protocol; expected ipc:///PATH or tcp://HOST:PORT",
            name);
    if (path && (path[0] != '/' || strlen(path) > SOCKET_PATH_MAX))
        return error_set(e, STATUS_USAGE,
                         "endpoint '%.120s' is not an absolute path of at most %d bytes", name,
                         SOCKET_PATH_MAX);
    if (!path && !port_is_good(name, bind))
        return error_set(e, STATUS_USAGE,
                         "endpoint '%.80s' has no valid port; expected :1 to :65535 at its end%s",
                         name, bind ? ", or :* for any free port" : "");
    if (!path && !tcp)
        return error_set(e, STATUS_USAGE,
                         "endpoint '%.80s' needs keys. Use --keys=DIR (bragg-run --make-keys DIR "
                         "makes them), or --insecure, which lets any process that can reach the "
                         "endpoint read, take and forge frames",
                         name);
    return STATUS_OK;
}

enum status endpoint_check_clients(const char *name, bool anywhere, struct error *e)
{
    const enum status s = endpoint_check(name, true, true, e);
    if (s || anywhere || endpoint_is_local(name))
        return s;
    return error_set(
        e, STATUS_USAGE,
        "endpoint '%.80s' can be reached by other hosts. Use --client-keys=DIR (bragg-run "
        "--make-keys DIR makes them), bind tcp://127.0.0.1, or use --insecure",
        name);
}

enum status endpoint_parse(const char *text, bool tcp, bool *bind, char endpoint[ENDPOINT_SIZE],
                           struct error *e)
{
    *bind = *text == '@';
    const enum status s = endpoint_check(text + *bind, *bind, tcp, e);
    if (s == STATUS_OK)
        memcpy(endpoint, text + *bind, strlen(text + *bind) + 1);
    return s;
}

/* Tries to connect to an address for at most one second.  Returns 0 or an errno. */
static int try_to_connect(const struct sockaddr *address, socklen_t size)
{
    enum { PATIENCE_MS = 1000 };
    int cause = 0;
    socklen_t cause_size = sizeof cause;
    const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    if (connect(fd, address, size) != 0)
        cause = errno;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    if (cause == EINPROGRESS && poll(&p, 1, PATIENCE_MS) == 1)
        (void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &cause, &cause_size);
    (void)close(fd);
    return cause;
}

bool endpoint_answers(const char *endpoint)
{
    const char *path = ipc_path(endpoint);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!path || strlen(path) >= sizeof address.sun_path)
        return !path;
    memcpy(address.sun_path, path, strlen(path) + 1);
    const int cause = try_to_connect((const struct sockaddr *)&address, sizeof address);
    return !cause || cause == EAGAIN;
}

bool endpoint_is_refused(const char *endpoint)
{
    char host[ENDPOINT_SIZE];
    if (!endpoint_is_network(endpoint))
        return !endpoint_answers(endpoint);
    (void)snprintf(host, sizeof host, "%s", endpoint + strlen("tcp://"));
    char *port = strrchr(host, ':'), *name = host;
    *port++ = 0;
    if (*name == '[') {
        name++;
        name[strcspn(name, "]")] = 0;
    }
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(name, port, &wanted, &found) != 0)
        return false;
    const int cause = try_to_connect(found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return cause == ECONNREFUSED;
}

static enum status check_user(const char *endpoint, uid_t owner, struct error *e)
{
    if (owner == geteuid() || owner == 0)
        return STATUS_OK;
    return error_set(e, STATUS_FAILED,
                     "%s: the socket belongs to user %ld; expected your own (user %ld) or root's. "
                     "Use a folder that only you can write to, such as $XDG_RUNTIME_DIR",
                     endpoint, (long)owner, (long)geteuid());
}

enum status endpoint_check_owner(const char *endpoint, struct error *e)
{
    const char *path = ipc_path(endpoint);
    struct stat what;
    return !path || stat(path, &what) != 0 ? STATUS_OK : check_user(endpoint, what.st_uid, e);
}

enum status endpoint_check_peer(const char *endpoint, int fd, struct error *e)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return !ipc_path(endpoint) || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0
               ? STATUS_OK
               : check_user(endpoint, peer.uid, e);
}

enum status endpoint_clear(const char *endpoint, struct error *e)
{
    const char *path = ipc_path(endpoint);
    struct stat what;
    if (!path || lstat(path, &what) != 0)
        return STATUS_OK;
    if (!S_ISSOCK(what.st_mode))
        return error_set(e, STATUS_USAGE, "%s exists and is not a socket. Give another endpoint",
                         path);
    if (endpoint_answers(endpoint))
        return error_set(e, STATUS_USAGE, "%s is in use by another process", path);
    if (unlink(path) != 0)
        return error_errno(e, STATUS_FAILED, "%s", path);
    return STATUS_OK;
}

void endpoint_remove(const char *endpoint)
{
    const char *path = ipc_path(endpoint);
    struct stat what;
    if (path && lstat(path, &what) == 0 && S_ISSOCK(what.st_mode))
        (void)unlink(path);
}

/* Turns the calling process into a small shell that waits until the pipe `fd` is closed, and then
 * removes the folder `path` with its sockets.  The pipe is closed when the stage ends, even if it
 * was killed.  Signals of the terminal are blocked. */
static void watch_folder(const char *path, int fd)
{
    sigset_t all;
    (void)setpgid(0, 0);
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    (void)dup2(fd, STDIN_FILENO);
    program_close_files(STDOUT_FILENO, ~0u);
    (void)execl("/bin/sh", "bragg-watch", "-c",
                "read -r end; rm -f \"$0/data\" \"$0/control\"; rmdir \"$0\"", path, (char *)NULL);
    _exit(1);
}

/* Makes a path for the folder with a random name, which no other user can guess. */
static enum status choose_path(char path[ENDPOINT_SIZE], struct error *e)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    if (!base || base[0] != '/' || strlen(base) > SOCKET_PATH_MAX - 32 ||
        access(base, W_OK | X_OK) != 0)
        base = "/tmp";
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return error_errno(e, STATUS_FAILED, "cannot get random numbers");
    (void)snprintf(path, ENDPOINT_SIZE, "%s/bragg-%016" PRIx64, base, bits);
    return STATUS_OK;
}

enum status folder_open(struct folder *f, struct error *e)
{
    int fd[2];
    const enum status s = choose_path(f->path, e);
    if (s)
        return s;
    if (pipe2(fd, O_CLOEXEC) != 0) {
        f->path[0] = 0;
        return error_errno(e, STATUS_FAILED, "cannot make a pipe");
    }
    /* The watcher is started before the folder is made: a folder without a watcher could stay
     * behind. */
    f->watched = fd[1];
    f->watcher = fork();
    if (f->watcher == 0)
        watch_folder(f->path, fd[0]);
    (void)close(fd[0]);
    if (f->watcher < 0)
        return error_errno(e, STATUS_FAILED, "cannot start a process that watches the folder %s",
                           f->path);
    /* The watcher gets a process group of its own, so that a signal to the group of the stage does
     * not kill it.  The watcher calls setpgid as well, because either process may run first. */
    (void)setpgid(f->watcher, 0);
    if (mkdir(f->path, 0700) != 0)
        return error_errno(e, STATUS_FAILED, "cannot make the folder %s", f->path);
    return STATUS_OK;
}

void folder_close(struct folder *f)
{
    if (!f->path[0])
        return;
    (void)close(f->watched);  // the watcher wakes up and removes the folder
    while (f->watcher > 0 && waitpid(f->watcher, NULL, 0) < 0 && errno == EINTR)
        continue;
    (void)rmdir(f->path);  // if there was no watcher
    *f = (struct folder){0};
}

void pipe_line_format(const struct pipe_line *line, char text[PIPE_LINE_SIZE])
{
    (void)snprintf(text, PIPE_LINE_SIZE, PIPE_WORD " %016" PRIx64 " %s %s\n", line->run, line->data,
                   line->control[0] ? line->control : "-");
}

/* Checks one endpoint of the line and copies it.  Returns false if it is not valid. */
static bool copy_endpoint(const char *word, char endpoint[ENDPOINT_SIZE])
{
    bool bind;
    struct error ignored;
    return endpoint_parse(word, true, &bind, endpoint, &ignored) == STATUS_OK && !bind;
}

enum status pipe_line_parse(const char *text, struct pipe_line *line, struct error *e)
{
    char data[ENDPOINT_SIZE], control[ENDPOINT_SIZE];
    int end = -1;
    *line = (struct pipe_line){0};
    if (sscanf(text, PIPE_WORD " %16" SCNx64 " %255s %255s%n", &line->run, data, control, &end) !=
            3 ||
        !line->run || end < 0 || text[end] || !copy_endpoint(data, line->data) ||
        (strcmp(control, "-") != 0 && !copy_endpoint(control, line->control)))
        return error_set(e, STATUS_USAGE,
                         "stdin is not a pipe from a stage (it begins with '%.40s'); expected the "
                         "output of another program of braggpipe",
                         text);
    return STATUS_OK;
}
