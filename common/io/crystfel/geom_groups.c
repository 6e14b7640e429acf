/* Groups of panels in geometry files of CrystFEL. */
#include "io/crystfel/geom.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "io/text/textfile.h"

enum { GROUPS_MAX = 10000, NAMES_MAX = 1000000 };

void geom_group_add(struct geom *g, const char *key, const char *value)
{
    static const char *const kinds[] = {"rigid_group_collection_", "rigid_group_", "group_"};
    size_t kind = 0;
    while (kind < 2 && strncmp(key, kinds[kind], strlen(kinds[kind])) != 0)
        kind++;
    const char *name = key + strlen(kinds[kind]);
    if (!*name || strlen(name) >= GEOM_NAME_SIZE || g->ngroups == GROUPS_MAX)
        return;
    g->groups = mem_grow(g->groups, g->ngroups, 1, sizeof *g->groups, &g->groups_room);
    struct geom_group *group = &g->groups[g->ngroups++];
    *group = (struct geom_group){.is_collection = kind == 0,
                                 .names = mem_copy(value, strlen(value) + 1, 1)};
    memcpy(group->name, name, strlen(name));
}

/* Returns the last group of this name and kind among the first `end` groups.  NULL: none. */
static const struct geom_group *find_group(const struct geom *g, size_t end, const char *name,
                                           bool collection)
{
    while (end > 0)
        if (g->groups[--end].is_collection == collection && strcmp(g->groups[end].name, name) == 0)
            return &g->groups[end];
    return NULL;
}

static bool take_panel(const struct geom *g, const char *name, int32_t number, int32_t *member,
                       bool *shared)
{
    for (size_t i = 0; i < g->npanels; i++)
        if (strcmp(g->panels[i].name, name) == 0) {
            *shared = *shared || (member[i] >= 0 && member[i] != number);
            member[i] = number;
            return true;
        }
    return false;
}

struct search {
    const struct geom *geom;
    const char *path;
    int32_t *member;
    size_t names;  // number of names so far: groups of groups could otherwise be endless
    struct error *e;
};

/* Gives the panels of a group the number of their member.  A name may also be that of an earlier
 * group, so that this ends. */
static enum status take_group(struct search *s, const struct geom_group *group, int32_t number)
{
    char *names = mem_copy(group->names, strlen(group->names) + 1, 1), *rest = names, *one;
    enum status status = STATUS_OK;
    bool shared = false;
    while (!status && (one = strsep(&rest, ","))) {
        const char *name = text_trim(one);
        const struct geom_group *inner =
            find_group(s->geom, (size_t)(group - s->geom->groups), name, false);
        if (++s->names > NAMES_MAX)
            status = error_set(s->e, STATUS_INPUT,
                               "%s: group %s has too many names; expected at most %d with those "
                               "of its groups",
                               s->path, group->name, NAMES_MAX);
        else if (take_panel(s->geom, name, number, s->member, &shared))
            continue;
        else
            status = inner
                         ? take_group(s, inner, number)
                         : error_set(s->e, STATUS_INPUT,
                                     "%s: group %s has '%.60s', which is not a panel or an earlier "
                                     "group",
                                     s->path, group->name, name);
    }
    if (!status && shared)
        status = error_set(s->e, STATUS_INPUT,
                           "%s: group %s has a panel that another group of the same collection "
                           "has, too",
                           s->path, group->name);
    mem_free(names);
    return status;
}

static enum status take_collection(struct search *s, const struct geom_group *all, size_t *nmembers)
{
    char *names = mem_copy(all->names, strlen(all->names) + 1, 1), *rest = names, *one;
    enum status status = STATUS_OK;
    while (!status && (one = strsep(&rest, ","))) {
        const char *name = text_trim(one);
        const struct geom_group *group = find_group(s->geom, s->geom->ngroups, name, false);
        status = group ? take_group(s, group, (int32_t)(*nmembers)++)
                       : error_set(s->e, STATUS_INPUT,
                                   "%s: the collection %s has '%.60s', which is not a group",
                                   s->path, all->name, name);
    }
    mem_free(names);
    return status;
}

/* Sets the error that there is no group `name`.  The message lists the first groups of the file.
 */
static enum status refuse_name(const struct geom *g, const char *path, const char *name,
                               struct error *e)
{
    char known[200] = "";
    for (size_t i = 0; i < g->ngroups && strlen(known) < 120; i++)
        (void)snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "",
                       g->groups[i].name);
    return *known ? error_set(e, STATUS_INPUT, "%s: has no group '%.60s'; expected one of %s", path,
                              name, known)
                  : error_set(e, STATUS_INPUT,
                              "%s: has no groups of panels (got group:%.60s). Add lines "
                              "rigid_group_NAME, or use 'panel' or 'detector'",
                              path, name);
}

enum status geom_group_members(const struct geom *g, const char *path, const char *name,
                               int32_t *member, size_t *nmembers, struct error *e)
{
    struct search s = {g, path, member, 0, e};
    const struct geom_group *collection = find_group(g, g->ngroups, name, true),
                            *group = find_group(g, g->ngroups, name, false);
    for (size_t i = 0; i < g->npanels; i++)
        member[i] = -1;
    *nmembers = 0;
    if (collection)
        return take_collection(&s, collection, nmembers);
    *nmembers = 1;
    return group ? take_group(&s, group, 0) : refuse_name(g, path, name, e);
}
