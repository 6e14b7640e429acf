/* The rows of the key tree: the type, the range and the default of each key. */
#ifndef BRAGG_EIGER_TABLE_H
#define BRAGG_EIGER_TABLE_H

/* Which requests a key answers.  Hidden keys are not in the lists of keys. */
enum access { READ, WRITE, HIDDEN_READ, HIDDEN_WRITE };

struct eiger_row {
    const char *sub, *task, *name;
    const char *type;  // of SIMPLON
    enum access access;
    const char *usual;    // default, as JSON
    const char *unit;     // NULL: none
    double least, most;   // range of numbers; both 0: no range, see also why_fixed
    const char *allowed;  // texts separated by |; NULL: any value
};

/* All rows, sorted by name within each part, and their number. */
extern const struct eiger_row eiger_rows[];
extern const int eiger_row_count;

/* Elements whose K alpha 1 line the key `element` selects.  The first one is none. */
#define ELEMENTS "|Ti|V|Cr|Mn|Fe|Co|Ni|Cu|Zn|Ga|Ge|As|Se|Br|Mo|Ag"

#endif
