/* Reads the statistics of a process. */
#include "run/display/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "run/pipeline/commands.h"

enum { LINE_BYTES = 1024 };

double stats_value(const char *json, const char *name)
{
    char key[64];
    (void)snprintf(key, sizeof key, "\"%s\":", name);
    const char *at = strstr(json, key);
    return at ? strtod(at + strlen(key), NULL) : 0;
}

/* The file has one line for each start of the process; the last one counts. */
bool stats_read(const char *folder, const char *name, struct process_cost *cost)
{
    char line[LINE_BYTES];
    char *path = command_file(folder, name, "stats");
    FILE *in = path ? fopen(path, "r") : NULL;
    bool any = false;
    mem_free(path);
    if (!in)
        return false;
    while (fgets(line, sizeof line, in))
        any = true;
    (void)fclose(in);
    if (!any)
        return false;
    const double wall_s = stats_value(line, "wall_s"), scale = wall_s > 0 ? 1 / wall_s : 0;
    *cost = (struct process_cost){.frames = stats_value(line, "frames"),
                                  .cpu_s = stats_value(line, "cpu_s"),
                                  .wall_s = wall_s,
                                  .compute = stats_value(line, "compute_s") * scale,
                                  .input = stats_value(line, "wait_in_s") * scale,
                                  .output = stats_value(line, "wait_out_s") * scale};
    return true;
}
