#include "io/output/frame_index_lines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/history.h"

#define TITLE "bragg-index 3 "
#define TITLE_2 "bragg-index 2 "

char *index_head(const struct frame_index_settings *settings)
{
    char *head = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&head, &length);
    if (!out)
        return NULL;
    fprintf(out, TITLE "%.32s\n", settings->lineage);
    for (const char *line = settings->history; *line;
         line += strcspn(line, "\n"), line += *line != 0)
        fprintf(out, "# %.*s\n", (int)strcspn(line, "\n"), line);
    (void)fclose(out);
    return head;
}

static bool skip_word(const char *line, int *used, const char *word)
{
    const bool there = strncmp(line + *used, word, strlen(word)) == 0;
    *used += there ? (int)strlen(word) : 0;
    return there;
}

/* Parses the line of a frame.  `no_hits`: the line has no column HIT.  Returns false if the text
 * is not such a line. */
static bool parse_line(const char *line, bool no_hits, struct index_entry *listed)
{
    int used = 0;
    bool hit = false;
    if (line[0] < '0' || line[0] > '9' ||
        sscanf(line, "%" SCNu64 "\t%8" SCNx32 "\t%" SCNu64 "\t%n", &listed->id, &listed->crc,
               &listed->bytes, &used) != 3 ||
        used == 0)
        return false;
    if (!no_hits && !(hit = skip_word(line, &used, INDEX_HIT)) &&
        !skip_word(line, &used, INDEX_BLANK))
        return false;
    listed->hit = hit;
    listed->names = line + used;
    return true;
}

bool index_advance(struct index_lines *l)
{
    const ssize_t n = getline(&l->line, &l->room, l->in);
    l->torn = n > 0 && l->line[n - 1] != '\n';
    if (n <= 0 || l->torn)
        return false;
    l->line[n - 1] = 0;
    l->number++;
    return true;
}

/* Sets the error that the index has another lineage.  The message names the options that differ,
 * or the two lineages if the difference is not known. */
static enum status refuse_lineage(const struct index_lines *l, const char *lineage,
                                  const char *history, const struct frame_index_settings *settings,
                                  struct error *e)
{
    char what[HISTORY_DIFFERENCE_SIZE];
    if (!history_difference(history, settings->history, what))
        (void)snprintf(what, sizeof what, "%.20s, not %.20s", lineage, settings->lineage);
    return error_set(e, settings->resume ? STATUS_INPUT : STATUS_FAILED,
                     "%s lists frames that were made with other options (%s). Use --overwrite to "
                     "replace them, or another name",
                     l->path, what);
}

bool index_is_of(const char *line, const char *lineage)
{
    const size_t title = strlen(TITLE), length = strlen(lineage);
    return (strncmp(line, TITLE, title) == 0 || strncmp(line, TITLE_2, title) == 0) &&
           strncmp(line + title, lineage, length) == 0 &&
           (!line[title + length] || line[title + length] == '\n');
}

/* Returns true if a text can be the incomplete first line that a killed process has left. */
static bool is_torn_title(const char *line)
{
    const size_t length = strlen(line), title = strlen(TITLE);
    const size_t common = length < title ? length : title;
    return strncmp(line, TITLE, common) == 0 || strncmp(line, TITLE_2, common) == 0;
}

/* Reads the first lines of an index.  *more: there is a line after them, which is then the
 * current line. */
static enum status take_head(struct index_lines *l, const struct frame_index_settings *settings,
                             bool *more, struct error *e)
{
    char lineage[64], *history = NULL;
    size_t length = 0;
    l->no_hits = strncmp(l->line, TITLE_2, strlen(TITLE_2)) == 0;
    if (!l->no_hits && strncmp(l->line, TITLE, strlen(TITLE)) != 0)
        return error_set(e, STATUS_FAILED,
                         "%s exists and is not an index of frames. Use --overwrite to replace it, "
                         "or another name",
                         l->path);
    (void)snprintf(lineage, sizeof lineage, "%.40s", l->line + strlen(TITLE));
    FILE *out = open_memstream(&history, &length);
    if (!out)
        return error_memory(e, "the index");
    while ((*more = index_advance(l)) && l->line[0] == '#')
        fprintf(out, "%s\n", l->line + 1 + (l->line[1] == ' '));
    (void)fclose(out);
    l->ours = strcmp(lineage, settings->lineage) == 0;
    const enum status s =
        l->ours || !*more ? STATUS_OK : refuse_lineage(l, lineage, history, settings, e);
    free(history);
    return s;
}

enum status index_begin(struct index_lines *l, const struct frame_index_settings *settings,
                        bool *more, struct error *e)
{
    *more = index_advance(l);
    if (!*more && (!l->torn || is_torn_title(l->line)))
        return STATUS_OK;
    return take_head(l, settings, more, e);
}

enum status index_parse(const struct index_lines *l, struct index_entry *entry, struct error *e)
{
    if (parse_line(l->line, l->no_hits, entry))
        return STATUS_OK;
    return error_set(
        e, STATUS_FAILED,
        "%s:%ld: not a line of an index of frames. Use --overwrite to begin a new index", l->path,
        l->number);
}
