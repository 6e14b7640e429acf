#include "base/sister.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program.h"

/* In the order of a pipe: the first that has it is meant. */
static const char *const programs[] = {"bragg-geometry",   "bragg-orient", "bragg-intensity",
                                       "bragg-background", "bragg-noise",  "bragg-write",
                                       "bragg-serve",      "bragg-run"};

/* Whether a line of --help is that of the option. */
static bool is_about(const char *line, const char *name, size_t length)
{
    line += strspn(line, " ");
    return strncmp(line, "--", 2) == 0 && strncmp(line + 2, name, length) == 0 &&
           !isalnum((unsigned char)line[2 + length]) && line[2 + length] != '-';
}

/* `folder` ends with a slash. */
static bool has(const char *folder, const char *program, const char *name)
{
    char path[PATH_MAX + 40], command[PATH_MAX + 80];
    (void)snprintf(path, sizeof path, "%s%s", folder, program);
    (void)snprintf(command, sizeof command, "'%s' --help 2>&1", path);
    FILE *help = strchr(path, '\'') || access(path, X_OK) != 0 ? NULL : popen(command, "re");
    if (!help)
        return false;
    char *line = NULL;
    size_t size = 0;
    bool found = false;
    while (getline(&line, &size, help) > 0)
        found = found || is_about(line, name, strlen(name));
    free(line);
    return pclose(help) == 0 && found;
}

const char *sister_with(const char *name)
{
    char folder[PATH_MAX];
    if (!*name || !program_folder(folder))
        return NULL;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        if (strcmp(programs[i], log_program()) != 0 && has(folder, programs[i], name))
            return programs[i];
    return NULL;
}
