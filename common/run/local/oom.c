/* Reads the counters of the control group for kills for lack of memory. */
#include "run/local/oom.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = PATH_MAX + 64 };

/* Reads the number of kills from a file of a control group.  Returns false if there is none. */
static bool read_count(const char *path, uint64_t *count)
{
    char line[LINE_SIZE];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found = sscanf(line, "oom_kill %" SCNu64, count) == 1;
    if (file)
        (void)fclose(file);
    return found;
}

/* Finds the file of a control group.  In a container the group can be the visible root itself. */
static bool find(struct oom *o, const char *root, const char *group, const char *name)
{
    const char *const groups[] = {group, ""};
    for (int i = 0; i < 2; i++)
        if (snprintf(o->path, sizeof o->path, "%s%s/%s", root, groups[i], name) <
                (int)sizeof o->path &&
            read_count(o->path, &o->seen))
            return true;
    o->path[0] = 0;
    return false;
}

/* Processes one line NUMBER:CONTROLLERS:GROUP.  Version 2 has number 0 and no controllers. */
static bool take_line(struct oom *o, char *line, const char *root)
{
    char controllers[PATH_MAX + sizeof "/unified"];
    line[strcspn(line, "\n")] = 0;
    char *second = strchr(line, ':'), *group = second ? strchr(second + 1, ':') : NULL;
    if (!group)
        return false;
    *group++ = 0;
    if (strcmp(second + 1, "memory") == 0) {
        (void)snprintf(controllers, sizeof controllers, "%s/memory", root);
        return find(o, controllers, group, "memory.oom_control");
    }
    (void)snprintf(controllers, sizeof controllers, "%s/unified", root);
    return strncmp(line, "0:", 2) == 0 &&
           (find(o, root, group, "memory.events") || find(o, controllers, group, "memory.events"));
}

void oom_open(struct oom *o, const char *groups, const char *root)
{
    char line[LINE_SIZE];
    *o = (struct oom){0};
    FILE *file = fopen(groups, "re");
    while (file && !o->path[0] && fgets(line, sizeof line, file))
        (void)take_line(o, line, root);
    if (file)
        (void)fclose(file);
}

bool oom_happened(struct oom *o)
{
    uint64_t count;
    if (!o->path[0] || !read_count(o->path, &count) || count <= o->seen)
        return false;
    o->seen++;
    return true;
}
