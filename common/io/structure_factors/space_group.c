/* The space group of a file: its name, its number and its operators must agree. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/structure_factors/molecule_reader.h"

/* Number of the International Tables, 0 where the file gives none. */
enum status space_group_check_number(const struct molecule_reader *r, const char *from,
                                     struct error *e)
{
    static const char *const names[] = {"_space_group_IT_number", "_symmetry_Int_Tables_number",
                                        "_space_group.IT_number", "_symmetry.Int_Tables_number",
                                        NULL};
    const struct operators *o = &r->m->operators;
    char text[32];
    const enum status s = molecule_find_tag(r, names, from, -1, text, sizeof text, e);
    const int number = atoi(text);
    if (s || !number || !o->number || number == o->number)
        return s;
    return error_set(e, STATUS_INPUT,
                     "%s: space group '%s' has the number %d, but the file gives the number %d; "
                     "remove the wrong one",
                     r->path, o->name, o->number, number);
}

/* Operators that the file lists, if any. */
static enum status read_operators(const struct molecule_reader *r, struct operators *o,
                                  struct error *e)
{
    static const char *const names[] = {"_space_group_symop_operation_xyz",
                                        "_symmetry_equiv_pos_as_xyz",
                                        "_space_group_symop.operation_xyz", NULL};
    enum status s = STATUS_OK;
    o->count = 0;
    for (size_t i = 0; names[i] && !o->count && !s; i++) {
        const char *const tags[] = {names[i], NULL};
        struct gemmi_table t;
        s = molecule_read_tags(r, tags, r->path, -1, &t, e);
        for (size_t row = 0; row < t.rows && !s; row++)
            if (!operators_add(o, gemmi_table_text(&t, row, 0)))
                s = error_set(e, STATUS_INPUT,
                              "%s: symmetry operator %zu is not one (got '%.40s'); expected it as "
                              "'-x,y+1/2,-z', and at most %d operators",
                              r->path, row + 1, gemmi_table_text(&t, row, 0), OPERATORS_MAX);
        gemmi_table_free(&t);
    }
    if (!s && o->count && !operators_are_group(o))
        s = error_set(e, STATUS_INPUT,
                      "%s: its %zu symmetry operators are not a group; expected all operators of "
                      "the space group, each once",
                      r->path, o->count);
    return s;
}

/* Whether the listed operators are those of the symbol, at either origin. */
static enum status compare(const struct molecule_reader *r, const char *symbol,
                           const struct operators *listed, const struct operators *named,
                           bool ambiguous, struct error *e)
{
    struct operators other;
    char second[OPERATORS_NAME_SIZE + 2];
    bool ignored;
    if (operators_are_same(listed, named))
        return STATUS_OK;
    (void)snprintf(second, sizeof second, "%s", named->name);
    char *origin = strchr(second, ':');
    if (ambiguous && origin) {
        (void)strcpy(origin, ":2");
        const enum status s =
            operators_find(r->path, second, r->m->cell_A, r->m->cell_rad, &other, &ignored, e);
        if (s || operators_are_same(listed, &other))
            return s;
    }
    return error_set(e, STATUS_INPUT,
                     "%s: its symmetry operators are not those of its space group '%s'; remove the "
                     "wrong ones",
                     r->path, symbol);
}

/* Of a CIF file of a small molecule: operators hold, which a name must not contradict; a name alone
 * must leave nothing open. */
enum status space_group_find(struct molecule_reader *r, struct error *e)
{
    static const char *const symbols[] = {
        "_space_group_name_H-M_alt", "_symmetry_space_group_name_H-M", "_space_group.name_H-M_alt",
        "_symmetry.space_group_name_H-M", NULL};
    struct molecule *m = r->m;
    struct operators listed = {0};
    struct error cause = {0};
    char symbol[128];
    bool ambiguous = false;
    enum status s = molecule_find_tag(r, symbols, r->path, -1, symbol, sizeof symbol, e);
    if (s || (s = read_operators(r, &listed, e)))
        return s;
    if (!*symbol && !listed.count)
        return molecule_refuse(
            r, e,
            "no space group; expected _space_group_name_H-M_alt, or the operators in "
            "_space_group_symop_operation_xyz");
    s = *symbol ? operators_find(r->path, symbol, m->cell_A, m->cell_rad, &m->operators, &ambiguous,
                                 &cause)
                : STATUS_OK;
    if (s == STATUS_INPUT && listed.count && !m->operators.count)
        s = STATUS_OK;  // gemmi does not know the name, and nobody needs it
    if (s)
        return error_set(e, s, "%s", cause.text);
    if (listed.count && m->operators.count &&
        (s = compare(r, symbol, &listed, &m->operators, ambiguous, e)))
        return s;
    if (!listed.count && ambiguous)
        return error_set(e, STATUS_INPUT,
                         "%s: space group '%s' has two origins; expected '%.*s:1' or '%.*s:2', or "
                         "the operators in _space_group_symop_operation_xyz",
                         r->path, symbol, (int)strcspn(m->operators.name, ":"), m->operators.name,
                         (int)strcspn(m->operators.name, ":"), m->operators.name);
    if (listed.count) {
        const int number = m->operators.number;
        m->operators = listed;
        m->operators.number = number;
        (void)snprintf(m->operators.name, sizeof m->operators.name, "%.60s",
                       *symbol ? symbol : "of the listed operators");
        if (!operators_fit(&listed, m->cell_A, m->cell_rad))
            return molecule_refuse(r, e, "its symmetry operators do not fit the cell");
    }
    return space_group_check_number(r, r->path, e);
}
