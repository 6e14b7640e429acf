/* Finds the hosts of a run from the options, the file and Slurm. */
#include "run/hosts/hosts_find.h"

#include "base/alloc.h"
#include "run/hosts/launch.h"
#include "run/hosts/slurm.h"

enum status hosts_find(struct hosts *h, enum launcher launcher, const char *text,
                       struct pipeline *p, struct error *e)
{
    if (!launcher)
        return hosts_refuse(p, e);
    enum status s = launch_check(launcher, e);
    if (s)
        return s;
    char *allocated = launcher == LAUNCHER_SLURM ? slurm_hosts(e) : NULL;
    if (launcher == LAUNCHER_SLURM && !allocated)
        return STATUS_FAILED;
    s = hosts_open(h, launcher, allocated ? allocated : text, p, e);
    mem_free(allocated);
    return s ? s : hosts_multiply(h, p, e);
}
