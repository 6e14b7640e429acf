/* bragg-run --remote: reports programs, address and free ports of this host. */
#include "run/hosts/remote_check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/host.h"
#include "base/version.h"
#include "run/hosts/remote.h"
#include "run/pipeline/find_program.h"

/* --- an address that other hosts reach ----------------------------------- */

static bool is_good(const struct sockaddr *a)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)a;
    return a && a->sa_family == AF_INET && ntohl(in->sin_addr.s_addr) >> 24 != 127;
}

static void write_address(const struct sockaddr *a, char address[INET6_ADDRSTRLEN])
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)a;
    (void)inet_ntop(AF_INET, &in->sin_addr, address, INET6_ADDRSTRLEN);
}

/* Finds the address at which sshd was reached, from SSH_CONNECTION. */
static bool from_ssh(char address[INET6_ADDRSTRLEN])
{
    struct in_addr four;
    struct in6_addr six;
    char server[INET6_ADDRSTRLEN];
    const char *text = getenv("SSH_CONNECTION");
    if (!text || sscanf(text, "%*s %*s %45s", server) != 1)
        return false;
    const bool good = inet_pton(AF_INET, server, &four) == 1
                          ? ntohl(four.s_addr) >> 24 != 127
                          : inet_pton(AF_INET6, server, &six) == 1 && !IN6_IS_ADDR_LOOPBACK(&six) &&
                                !IN6_IS_ADDR_LINKLOCAL(&six);
    if (good)
        memcpy(address, server, sizeof server);
    return good;
}

static bool from_name(char address[INET6_ADDRSTRLEN])
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host_name(), NULL, &wanted, &found) != 0)
        return false;
    const bool good = is_good(found->ai_addr);
    if (good)
        write_address(found->ai_addr, address);
    freeaddrinfo(found);
    return good;
}

static bool from_interfaces(char address[INET6_ADDRSTRLEN])
{
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next)
        if ((i->ifa_flags & IFF_UP) && is_good(i->ifa_addr)) {
            write_address(i->ifa_addr, address);
            found = true;
        }
    freeifaddrs(all);
    return found;
}

/* --- ports --------------------------------------------------------------- */

enum { PORT_FIRST = 20000, PORT_TRIES = 50 };

/* Returns the first port of the range from which the kernel assigns ports by itself.  A port in
 * that range may be free now and taken when its stage starts. */
static int first_given_away(void)
{
    int first = 32768;  // the kernel's own default
    FILE *range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (range) {
        if (fscanf(range, "%d", &first) != 1)
            first = 32768;
        (void)fclose(range);
    }
    return first;
}

/* Binds a port (0: any) and keeps it until this process ends.  Returns the port; 0: failed. */
static int take_port(const char *address, int wanted)
{
    struct addrinfo *found = NULL;
    const struct addrinfo numeric = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    char port[NI_MAXSERV];
    (void)snprintf(port, sizeof port, "%d", wanted);
    if (getaddrinfo(address, port, &numeric, &found) != 0)
        return 0;
    const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool good = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                      getsockname(fd, (struct sockaddr *)&bound, &size) == 0 &&
                      getnameinfo((struct sockaddr *)&bound, size, NULL, 0, port, sizeof port,
                                  NI_NUMERICSERV) == 0;
    if (!good && fd >= 0) {
        const int why = errno;
        (void)close(fd);
        errno = why;
    }
    freeaddrinfo(found);
    return good ? atoi(port) : 0;
}

/* Binds a free port, outside the range of the kernel if possible.  Returns the port; 0: failed. */
static int find_port(const char *address)
{
    const int room = first_given_away() - PORT_FIRST;
    int port = 0;
    for (int i = 0; i < PORT_TRIES && room > 0 && !port; i++)
        port = take_port(address, PORT_FIRST + (int)arc4random_uniform((uint32_t)room));
    return port ? port : take_port(address, 0);
}

static void answer(const struct remote_check *c)
{
    char address[INET6_ADDRSTRLEN] = "127.0.0.1";
    (void)(from_ssh(address) || from_name(address) || from_interfaces(address));
    printf("%cversion %s %d\n", REMOTE_MARK, BRAGG_VERSION, PHYSICS_VERSION);
    printf("%chost %s %s\n", REMOTE_MARK, host_name(), address);
    for (size_t i = 0; i < c->nlacking; i++)
        printf("%clacks %s\n", REMOTE_MARK, c->lacking[i]);
    if (c->lacks_file)
        printf("%cunshared\n", REMOTE_MARK);
    int port = 1;
    for (size_t i = 0; i < c->ports && port; i++)
        if ((port = find_port(address)) != 0)
            printf("%cport %d\n", REMOTE_MARK, port);
        else
            printf("%ctrouble no free TCP port at %s: %s\n", REMOTE_MARK, address, strerror(errno));
    printf("%cend\n", REMOTE_MARK);
    (void)fflush(stdout);
}

enum status remote_check_take(struct remote_check *c, const char *name, const char *value,
                              struct error *e)
{
    if (strcmp(name, "program") == 0 && value) {
        char *found = program_find(value);
        if (!found && c->nlacking < REMOTE_LACKING_MAX)
            (void)snprintf(c->lacking[c->nlacking++], sizeof c->lacking[0], "%s", value);
        mem_free(found);
    } else if (strcmp(name, "file") == 0 && value) {
        c->lacks_file |= access(value, R_OK) != 0;
    } else if (strcmp(name, "port") == 0) {
        c->ports++;
    } else if (strcmp(name, "check") == 0) {
        answer(c);
    } else {
        return error_set(e, STATUS_USAGE, "--remote: unknown item '%.40s' on stdin", name);
    }
    return STATUS_OK;
}
