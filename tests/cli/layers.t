#!/bin/sh
# Dependencies run one way, and what is referred to is there.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
check 'layers are kept' "$BRAGG_TESTS/../scripts/check-layers"

# a.c calls b(), b.c calls a(): a circle, as is one of headers; what has the name of a function only
# in a comment, or of its own, is none.
mkdir near far
cat >near/a.c <<'END'
#include "near/b.h"
int a(int x)
{
    return x ? b(x) : 0;
}
END
cat >near/b.c <<'END'
#include "near/b.h"
/* as a(x) does */
static int helper(int x)
{
    return x - 1;
}

int b(int x)
{
    return helper(x);
}
END
echo 'int b(int x);' >near/b.h
check 'files in one direction are no circle' "$BRAGG_TESTS/../scripts/find-circles" near/*.[ch]
cp near/* far
sed 's,return helper,return a,' near/b.c >far/b.c
! circles=$("$BRAGG_TESTS/../scripts/find-circles" far/*.[ch])
is 'files that call each other are' "$circles" 'far/a.c -> far/b.c: b
far/b.c -> far/a.c: a'
echo '#include "near/a.h"' >>near/b.h
echo '#include "near/b.h"' >near/a.h
! circles=$("$BRAGG_TESTS/../scripts/find-circles" near/*.[ch])
is 'headers that need each other are' "$circles" 'near/a.h -> near/b.h: #include
near/b.h -> near/a.h: #include'

# Tests that start what a machine may not have, and one that asks first.
cat >first.t <<'END'
. lib.sh
check 'sums' /usr/bin/python3 -c "
import h5py, sys"
check 'a sweep' dials.import x.cbf
check 'factors' sh -c 'gemmi sfcalc x.pdb'
END
sed "2i needs 'all' python:h5py dials.import gemmi" first.t >asks.t
if has /usr/bin/python3; then
	check 'tests ask for the programs and modules that they start' "$BRAGG_TESTS/../scripts/check-needs"
	! started=$("$BRAGG_TESTS/../scripts/check-needs" first.t)
	is 'a test that does not ask is found' "$(echo "$started" | sed 's/first.t: starts \([^ ]*\) .*/\1/' | paste -sd' ')" 'dials gemmi python python:h5py'
	check 'a test that asks is not found' "$BRAGG_TESTS/../scripts/check-needs" asks.t
else
	skip 'tests ask for the programs and modules that they start' "$lack is missing"
fi

check 'sections that comments and pages cite are there' "$BRAGG_TESTS/../scripts/check-citations"
finish
