#include "score/items.h"

#include <string.h>

int items_split(char *line, char *words[ITEMS_MAX])
{
    int n = 0;
    line[strcspn(line, "#\r")] = 0;
    for (char *rest = NULL, *word = strtok_r(line, " \t", &rest); word;
         word = strtok_r(NULL, " \t", &rest)) {
        if (n == ITEMS_MAX)
            return -1;
        words[n++] = word;
    }
    return n;
}

int items_find(char *const words[], int count, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}
