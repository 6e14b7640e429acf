#include "base/host.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/utsname.h>

static char name[HOST_SIZE];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(void)
{
    struct utsname system = {0};
    (void)uname(&system);
    (void)snprintf(name, sizeof name, "%.64s", system.nodename[0] ? system.nodename : "localhost");
    for (char *c = name; *c; c++)
        *c = *c <= ' ' || *c >= 0x7f ? '_' : *c;
}

const char *host_name(void)
{
    (void)pthread_once(&once, find);
    return name;
}
