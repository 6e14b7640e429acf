/* Finds programs and shipped pipeline files. */
#include "run/pipeline/find_program.h"

#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/program.h"
#include "base/text.h"
#include "link/run.h"

bool program_is_ours(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strncmp(slash ? slash + 1 : program, "bragg-", 6) == 0;
}

pid_t program_fork(void)
{
    sigset_t leave, before;
    (void)sigemptyset(&leave);
    (void)sigaddset(&leave, LEAVE_SIGNAL);
    (void)sigprocmask(SIG_BLOCK, &leave, &before);
    const pid_t child = fork();
    if (child != 0)
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return child;
}

void program_signals(const char *program, const sigset_t *mask)
{
    sigset_t blocked = *mask;
    if (program_is_ours(program))
        (void)sigaddset(&blocked, LEAVE_SIGNAL);
    (void)sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static char *join_path(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 1;
    char *path = mem_array(size, 1);
    (void)snprintf(path, size, "%s%s", folder, name);
    return path;
}

static bool is_program(const char *path)
{
    struct stat what;
    return access(path, X_OK) == 0 && stat(path, &what) == 0 && S_ISREG(what.st_mode);
}

/* Returns the path of a program in a folder of PATH, which the caller frees with mem_free; NULL:
 * not found. */
static char *find_in_path(const char *program)
{
    const char *path = getenv("PATH");
    for (path = path ? path : "/usr/bin:/bin"; *path;) {
        char folder[PATH_MAX];
        const size_t length = strcspn(path, ":");
        (void)snprintf(folder, sizeof folder, "%.*s/", length ? (int)length : 1,
                       length ? path : ".");
        char *found = join_path(folder, program);
        if (found && is_program(found))
            return found;
        mem_free(found);
        path += length + (path[length] == ':');
    }
    return NULL;
}

static char *find_beside(const char *program)
{
    char self[PATH_MAX];
    if (!program_folder(self))
        return NULL;
    char *found = join_path(self, program);
    if (found && is_program(found))
        return found;
    mem_free(found);
    return NULL;
}

char *program_find(const char *program)
{
    char first[PATH_MAX], second[PATH_MAX];
    if (strchr(program, '/'))
        return is_program(program) && realpath(program, first) ? join_path("", first) : NULL;
    char *beside = find_beside(program), *in_path = find_in_path(program);
    const bool same = !beside || (in_path && realpath(beside, first) && realpath(in_path, second) &&
                                  strcmp(first, second) == 0);
    char *found = NULL;
    if (in_path && *in_path == '/' && same)
        found = join_path("", program);
    else if (beside)
        found = join_path("", beside);
    else if (in_path && realpath(in_path, first))  // stages may run in another folder
        found = join_path("", first);
    mem_free(beside);
    mem_free(in_path);
    return found;
}

bool program_meant(const char *name, char meant[PROGRAM_NAME_SIZE])
{
    char self[PATH_MAX], pattern[PATH_MAX + 20];
    int best = 99;
    glob_t files;
    if (!program_folder(self) || !program_is_ours(name))
        return false;
    (void)snprintf(pattern, sizeof pattern, "%sbragg-*", self);
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t k = 0; k < files.gl_pathc; k++) {
            const char *file = strrchr(files.gl_pathv[k], '/') + 1;
            if (suggest_name(name + strlen("bragg-"), file + strlen("bragg-"), &best))
                (void)snprintf(meant, PROGRAM_NAME_SIZE, "%s", file);
        }
    globfree(&files);
    return best < 99;
}

static const char pipelines[] = "../share/braggpipe/pipelines/";

/* Returns true if `name` can be the name of a shipped pipeline.  Sets `self` to the folder of
 * this executable. */
static bool is_plain(const char *name, char self[PATH_MAX])
{
    return *name && !strpbrk(name, "/.") && strlen(name) < SHIPPED_NAME_SIZE &&
           program_folder(self);
}

char *program_pipeline(const char *name)
{
    char self[PATH_MAX], path[2 * PATH_MAX];
    if (!is_plain(name, self))
        return NULL;
    (void)snprintf(path, sizeof path, "%s%s%s.yaml", self, pipelines, name);
    return access(path, R_OK) == 0 ? join_path("", path) : NULL;
}

void program_pipelines(void (*take)(void *data, const char *name, const char *path), void *data)
{
    char self[PATH_MAX], pattern[2 * PATH_MAX], name[SHIPPED_NAME_SIZE];
    glob_t files;
    if (!program_folder(self))
        return;
    (void)snprintf(pattern, sizeof pattern, "%s%s*.yaml", self, pipelines);
    if (glob(pattern, 0, NULL, &files) == 0)
        for (size_t k = 0; k < files.gl_pathc; k++) {
            const char *file = strrchr(files.gl_pathv[k], '/') + 1;
            (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(file, "."), file);
            take(data, name, files.gl_pathv[k]);
        }
    globfree(&files);
}

/* State of a search for the shipped pipeline whose name is most similar to the typed name. */
struct program_guess {
    const char *typed;
    char *name;
    int best;
};

static void compare_program(void *data, const char *name, const char *path)
{
    struct program_guess *m = data;
    (void)path;
    if (suggest_name(m->typed, name, &m->best))
        (void)snprintf(m->name, SHIPPED_NAME_SIZE, "%s", name);
}

bool program_pipeline_meant(const char *name, char meant[SHIPPED_NAME_SIZE])
{
    char self[PATH_MAX];
    struct program_guess m = {name, meant, 99};
    if (is_plain(name, self))
        program_pipelines(compare_program, &m);
    return m.best < 99;
}
