/*
 * A library to be preloaded into a stage, which does harm to what it asks of the system.
 *
 *   FAULT_PORTS=FROM:TO...    connections to a port of this host lead to another one
 *   FAULT="CALL NUMBER HOW"   at the call of that number (from 1) of a kind:
 *     CALL  create (a temporary file), write (into it), sync, rename, index (open it),
 *           append (to it), keep (a frame in a spool)
 *     HOW   an errno such as ENOSPC; short: half is done, then ENOSPC; kill, before the call;
 *           killed, after it; hang: the call never returns (keep)
 *     CALL  experiment, frame, heartbeat, free (sent to another stage)
 *     HOW   lost: it never arrives; mute: nor do later ones; cut: all connections of this
 *           process to others of this host break before it is sent
 *     CALL  memory (an aligned array of FAULT_BYTES bytes)
 *     HOW   ENOMEM
 *     CALL  exec (another program in place of this one)
 *     HOW   slow: three seconds pass before
 *   FAULT_INTERRUPTS=yes      every second call on a file ends with EINTR
 *   FAULT_STORM=yes           SIGALRM, SIGCHLD and SIGWINCH come every five milliseconds, and
 *                             interrupt the calls that wait
 *   FAULT_LOCKS=none          no file can be locked by its bytes
 *   FAULT_ONCE=FILE           made when that happens; it does not when the file is there
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include <zmq.h>

static const struct {
    const char *name;
    int number;
} errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},     {"EDQUOT", EDQUOT},
              {"EMFILE", EMFILE}, {"EINTR", EINTR}, {"ENOMEM", ENOMEM}};

enum { TEMPORARY_MAX = 16 };

static int index_file = -1;
static int temporary[TEMPORARY_MAX];  // files made by mkstemp, 0: none
static unsigned ntemporary;

#define REAL(function) ((__typeof__(&(function)))real(#function))

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* What happens at this call: "" for nothing. */
static const char *fault(const char *call)
{
    static char how[32];
    static unsigned count;
    static bool over;
    const char *plan = getenv("FAULT"), *once = getenv("FAULT_ONCE");
    char which[32];
    unsigned number;
    if (over || !plan || sscanf(plan, "%31s %u %31s", which, &number, how) != 3 ||
        strcmp(which, call) != 0 || ++count < number)
        return "";
    over = true;
    if (once && REAL(open)(once, O_WRONLY | O_CREAT | O_EXCL, 0666) < 0)
        return "";
    if (strcmp(how, "kill") == 0)
        (void)raise(SIGKILL);
    return how;
}

/* Whether a signal interrupts this call: every second one. */
static bool is_interrupted(void)
{
    static unsigned count;
    if (!getenv("FAULT_INTERRUPTS") || count++ % 2)
        return false;
    errno = EINTR;
    return true;
}

/* Signals that come for the process come to whatever thread takes them first. */
static void on_signal(int number)
{
    const int cause = errno;
    if (number == SIGALRM) {
        (void)kill(getpid(), SIGCHLD);
        (void)kill(getpid(), SIGWINCH);
    }
    errno = cause;
}

/* Before the program begins: handlers without SA_RESTART, and a timer that does not end. */
__attribute__((constructor)) static void begin_storm(void)
{
    static const int numbers[] = {SIGALRM, SIGCHLD, SIGWINCH};
    const struct itimerval often = {.it_interval.tv_usec = 5000, .it_value.tv_usec = 5000};
    const struct sigaction action = {.sa_handler = on_signal};
    if (!getenv("FAULT_STORM"))
        return;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sigaction(numbers[i], &action, NULL);
    (void)setitimer(ITIMER_REAL, &often, NULL);
}

/* True when the call must not be made; errno says why. */
static bool refuse(const char *how)
{
    if (is_interrupted())
        return true;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(how, errors[i].name) == 0) {
            errno = errors[i].number;
            return true;
        }
    return false;
}

static void after(const char *how)
{
    if (strcmp(how, "killed") == 0)
        (void)raise(SIGKILL);
}

int mkstemp(char *template)
{
    const char *how = fault("create");
    if (refuse(how))
        return -1;
    const int fd = REAL(mkstemp)(template);
    if (fd >= 0)
        temporary[ntemporary++ % TEMPORARY_MAX] = fd;
    after(how);
    return fd;
}

/* After half of it no more can be written. */
static ssize_t write_faulty(const char *call, int fd, const void *bytes, size_t size)
{
    static bool is_full;
    const char *how = fault(call);
    if (is_full)
        errno = ENOSPC;
    if (is_full || refuse(how))
        return -1;
    const bool half = strcmp(how, "short") == 0 || strcmp(how, "killed") == 0;
    const ssize_t n = REAL(write)(fd, bytes, half ? size / 2 : size);
    is_full = strcmp(how, "short") == 0;
    after(how);
    return n;
}

static bool is_temporary(int fd)
{
    bool found = false;
    for (size_t i = 0; i < TEMPORARY_MAX; i++)
        found |= fd >= 0 && temporary[i] == fd;
    return found;
}

static bool is_file(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    if (fd == index_file || is_temporary(fd))
        return write_faulty(fd == index_file ? "append" : "write", fd, bytes, size);
    if (is_file(fd) && is_interrupted())
        return -1;
    return REAL(write)(fd, bytes, size);
}

int close(int fd)
{
    for (size_t i = 0; i < TEMPORARY_MAX; i++)
        if (temporary[i] == fd)
            temporary[i] = 0;
    if (fd == index_file)
        index_file = -1;
    return REAL(close)(fd);
}

ssize_t pread(int fd, void *to, size_t size, off_t offset)
{
    return is_interrupted() ? -1 : REAL(pread)(fd, to, size, offset);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t offset)
{
    return is_interrupted() ? -1 : REAL(pwrite)(fd, from, size, offset);
}

int ftruncate(int fd, off_t size)
{
    return is_file(fd) && is_interrupted() ? -1 : REAL(ftruncate)(fd, size);
}

int fdatasync(int fd)
{
    return is_interrupted() ? -1 : REAL(fdatasync)(fd);
}

/* Half of a record are half of its pieces. */
ssize_t pwritev(int fd, const struct iovec *pieces, int count, off_t offset)
{
    const char *how = fault("keep");
    if (refuse(how))
        return -1;
    while (strcmp(how, "hang") == 0)
        (void)pause();
    const bool is_short = strcmp(how, "short") == 0;
    const bool half = is_short || strcmp(how, "killed") == 0;
    const ssize_t n = REAL(pwritev)(fd, pieces, half ? (count + 1) / 2 : count, offset);
    after(how);
    errno = ENOSPC;
    return is_short ? -1 : n;
}

int fsync(int fd)
{
    const char *how = fault("sync");
    if (refuse(how))
        return -1;
    const int status = REAL(fsync)(fd);
    after(how);
    return status;
}

int rename(const char *from, const char *to)
{
    const char *how = fault("rename");
    if (refuse(how))
        return -1;
    const int status = REAL(rename)(from, to);
    after(how);
    return status;
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags)
{
    const char *how = fault("rename");
    if (refuse(how))
        return -1;
    const int status = REAL(renameat2)(from_folder, from, to_folder, to, flags);
    after(how);
    return status;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (!(flags & O_APPEND))
        return flags & O_CREAT && is_interrupted() ? -1 : REAL(open)(path, flags, mode);
    const char *how = fault("index");
    if (refuse(how))
        return -1;
    index_file = REAL(open)(path, flags, mode);
    after(how);
    return index_file;
}

int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *argument = va_arg(args, void *);
    va_end(args);
    const bool locks = command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
    if (!locks || !getenv("FAULT_LOCKS"))
        return REAL(fcntl)(fd, command, argument);
    errno = ENOLCK;
    return -1;
}

void *aligned_alloc(size_t alignment, size_t size)
{
    const char *bytes = getenv("FAULT_BYTES");
    if (bytes && size == strtoull(bytes, NULL, 10) && refuse(fault("memory")))
        return NULL;
    return REAL(aligned_alloc)(alignment, size);
}

int execv(const char *path, char *const words[])
{
    if (strcmp(fault("exec"), "slow") == 0)
        (void)sleep(3);
    return REAL(execv)(path, words);
}

int connect(int fd, const struct sockaddr *address, socklen_t size)
{
    struct sockaddr_in other;
    int from, to, used;
    const char *ports = getenv("FAULT_PORTS");
    if (!ports || address->sa_family != AF_INET || size != sizeof other)
        return REAL(connect)(fd, address, size);
    memcpy(&other, address, sizeof other);
    for (; sscanf(ports, " %d:%d%n", &from, &to, &used) == 2; ports += used)
        if (ntohs(other.sin_port) == from) {
            other.sin_port = htons((uint16_t)to);
            break;
        }
    return REAL(connect)(fd, (const struct sockaddr *)&other, size);
}

/* Messages: an address, through some sockets, then parts; the first one says what it is. */
static __thread struct {
    unsigned char bytes[256];
    size_t size;
    bool inside, lost;  // after the first part; of a message that is lost
} sending;

int zmq_send(void *socket, const void *bytes, size_t size, int flags)
{
    int type = 0;
    size_t type_size = sizeof type;
    (void)zmq_getsockopt(socket, ZMQ_TYPE, &type, &type_size);
    if (type != ZMQ_ROUTER || !(flags & ZMQ_SNDMORE) || size > sizeof sending.bytes)
        return REAL(zmq_send)(socket, bytes, size, flags);
    memcpy(sending.bytes, bytes, size);
    sending.size = size;
    return (int)size;
}

/* Shuts down all connections through sockets in the file system. */
static void cut_all(void)
{
    enum { FILES = 1024 };
    for (int fd = 3; fd < FILES; fd++) {
        struct sockaddr_un ends[2] = {{0}};
        socklen_t sizes[2] = {sizeof ends[0], sizeof ends[1]};
        const bool connected = getsockname(fd, (struct sockaddr *)&ends[0], &sizes[0]) == 0 &&
                               getpeername(fd, (struct sockaddr *)&ends[1], &sizes[1]) == 0;
        if (connected && ends[0].sun_family == AF_UNIX &&
            (ends[0].sun_path[0] || ends[1].sun_path[0]))
            (void)shutdown(fd, SHUT_RDWR);
    }
}

static bool is_lost(zmq_msg_t *first)
{
    enum { TYPE_AT = 2 };
    static const char *const calls[] = {
        [2] = "experiment", [3] = "frame", [8] = "heartbeat", [11] = "free"};
    static int mute = -1;
    const unsigned char *route = zmq_msg_data(first);
    const size_t type = zmq_msg_size(first) > TYPE_AT ? route[TYPE_AT] : 0;
    if (type >= sizeof calls / sizeof *calls || !calls[type])
        return false;
    const char *how = (int)type == mute ? "lost" : fault(calls[type]);
    if (strcmp(how, "mute") == 0)
        mute = (int)type;
    if (strcmp(how, "cut") == 0)
        cut_all();
    return (int)type == mute || strcmp(how, "lost") == 0;
}

int zmq_msg_send(zmq_msg_t *part, void *socket, int flags)
{
    if (!sending.inside) {
        sending.lost = is_lost(part);
        const size_t size = sending.size;
        sending.size = 0;
        if (size && !sending.lost &&
            REAL(zmq_send)(socket, sending.bytes, size, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
            return -1;
    }
    if (sending.lost)
        (void)zmq_msg_close(part);
    const int sent = sending.lost ? 0 : REAL(zmq_msg_send)(part, socket, flags);
    sending.inside = sent >= 0 && flags & ZMQ_SNDMORE;  // else the sender gives the message up
    return sent;
}
