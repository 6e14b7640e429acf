#!/bin/sh
# scripts/check-prose: pages, guides, messages and comments are in plain English, and it finds what is not.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'the language' /usr/bin/python3
prose=$BRAGG_TESTS/../scripts/check-prose
scratch
check 'the repository keeps to it' "$prose"

# found NAME EXPECTED FILE: the words that are found in a file, in order
found() {
	is "$1" "$("$prose" "$3" | sed "s/^[^:]*:[0-9]*: //; s/: write.*//; s/; expected.*//" | paste -sd,)" "$2"
}

cat >page.1 <<'END'
.Sh DESCRIPTION
Use
.Nm good
to see how a page begins.
.Bd -literal
$ good --words  # a last stage that tells who lacks what
.Ed
.Sh OPTIONS
.It Fl \-limit Ns = Ns Ar N
Stop after N frames.
Default: no limit.
.It Fl \-out Ns = Ns Ar FILE
Write to this file.
.Sh EXIT STATUS
As for every program.
END
found 'a good page' '' page.1
sed 's/^Use$/This is/' page.1 >1.1
found 'a page without its purpose' "DESCRIPTION does not begin with 'Use ... to'" 1.1
sed '/^.Bd/,/^.Ed/d' page.1 >2.1
found 'a page without an example is found' 'the page has no example' 2.1
sed '/EXIT/d' page.1 >3.1
found 'a page without its exit status is found' 'the page has no EXIT STATUS' 3.1
sed '/^Default/d' page.1 >4.1
found 'an option without its default' 'option --limit: its default is not stated' 4.1
sed 's/^As for.*/The last stage tells this. Of three two are kept, in place of one./' page.1 >5.1
found 'words' "'last stage','tells','in place of','Of three'" 5.1
sed "s/^As for.*/$(yes word | head -n 31 | paste -sd' ')./" page.1 >6.1
found 'a long sentence' 'a sentence of 31 words' 6.1
sed "s/^As for.*/$(yes word | head -n 30 | paste -sd' ')./" page.1 >7.1
found 'a sentence that is not too long is accepted' '' 7.1

cat >guide.md <<'END'
Whoever reads this, and users who write, are people. `tells` is a name.

    tells

A process who reads is none.
END
found 'a guide: names and commands are no words' "'who'" guide.md
cat >source.c <<'END'
/* Returns the frames that
 * are parted by commas, for the lab. */
static const char *const told = "lacks";
static const char *said(void)
{
    return "nobody "
           "is lit";  // A card.
}
END
found 'a source: comments and sentences, not names' "'parted by','the lab','lit','nobody','card'" source.c
finish
