#!/bin/sh
# bragg-score --sent: what a client did with faults: reported, ignored, wrong, dead.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/score.sh"
needs 'scores of what was sent' /usr/bin/python3
scratch

bragg-geometry --quiet --detpixels=64 | bragg-orient --quiet --frames=12 --random --hit-rate=0.5 --seed=2 --truth=truth.tsv | bragg-tap --quiet --record=recipes.rec
# hits FIRST LAST [FRAME DAMAGED]: right answers, of which one calls its message damaged
hits() {
	awk -v first="$1" -v last="$2" -v at="${3:--1}" -v damaged="${4:-0}" 'BEGIN { print "frame\thit\tdamaged" }
		NR > 1 && $1 >= first && $1 <= last { print $1, ($2 > 0), $1 == at ? damaged : "-" }' truth.tsv
}
# sent FRAME FAULT...: messages of all frames, of which these have faults
sent() {
	printf 'frame\tsent_s\tfate\tfault\n'
	for n in 0 1 2 3 4 5 6 7 8 9 10 11; do
		fault=-
		for pair; do [ "${pair%=*}" != $n ] || fault=${pair#*=}; done
		printf '%d\t%d\ttaken\t%s\n' $n $((1000 + n)) "$fault"
	done
}
told() { # NAME FIGURE=VALUE...: of hits.tsv against sent.tsv
	told_name=$1
	shift
	known "$told_name" truth.tsv hits.tsv --sent=sent.tsv "$@"
}
awk -F'\t' 'NR > 1 { print $2 }' truth.tsv | sort | uniq -c >counts
note "$(tr -s ' \n' ' ' <counts)"

sent 4=shape 6=nan >sent.tsv
hits 0 11 4 1 >hits.tsv
told 'reported, which is not wrong' faults.shape.n=1 faults.shape.answered=1 faults.shape.reported=1 faults.shape.wrong=0 faults.shape.died=0 \
	faults.nan.reported=0 faults.nan.ignored=0 answers_false_alarm=0 lost.by_client=0
hits 0 11 5 1 >hits.tsv
told 'a false alarm' answers_false_alarm=1 faults.shape.reported=0
hits 0 11 | awk '$1 == 6 { $2 = 1 - $2 } 1' >hits.tsv
told 'a wrong answer' faults.nan.wrong=1 faults.shape.wrong=0
hits 0 11 | awk '$1 == 6 { $2 = 1 - $2; $3 = 1 } 1' >hits.tsv
told 'a wrong one that is reported' faults.nan.wrong=0 faults.nan.reported=1
hits 0 11 | awk '$1 != 4' >hits.tsv
told 'a fault that the client ignored' faults.shape.ignored=1 faults.shape.died=0
hits 0 5 >hits.tsv
told 'a client that died of a fault' faults.nan.died=1 faults.shape.died=0 lost.by_client=6
sed 's/nan/type/' sent.tsv >typed.tsv
check 'the page says it, too' sh -c 'bragg-score --report=page.html --sent=typed.tsv truth.tsv hits.tsv >page && /usr/bin/python3 "$BRAGG_TESTS/cli/score_page.py" page.html \
	"a client died of the fault type in frame 6" "What did the client do with faults?" "type died 1" "answers false alarm 0"'
is 'the table says which fault killed a client' "$(tail -n 1 table)" 'a client died of the fault nan in frame 6: no later frame has a result'
hits 0 6 >hits.tsv
told 'a client that stopped for another reason' faults.nan.died=0
sent 8=nan 9=type >sent.tsv
hits 0 7 >hits.tsv
told 'too few frames after it to decide' faults.nan.died=0 faults.type.died=0
sent 6=nan 7=type 9=shape >sent.tsv
hits 0 5 >hits.tsv
told 'the first of two clients died of its fault' faults.nan.died=1 faults.type.died=0
sent 6=nan | sed 's/taken	nan/dropped	nan/' >sent.tsv
told 'a client does not die of a fault that it did not get' faults.nan.died=0
hits 0 11 4 2 >hits.tsv
refused 'neither yes nor no' 3 "damaged is '2'; expected a whole number from 0 to 1" truth.tsv hits.tsv
hits 0 11 4 1 >hits.tsv
refused 'messages cannot be scored in part' 2 'sent.tsv is the table of bragg-serve --sent' --only=1 --sent=sent.tsv truth.tsv hits.tsv
finish
