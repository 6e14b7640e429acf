#!/bin/sh
# bragg-serve --inject and --sent: clients of every protocol see the faults that the file of --sent names, and
# none without the option; the file of --sent holds the ground truth of each message.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'clients of all protocols' python:zmq python:msgpack python:cbor2 python:h5py python:numpy
scratch
S=ipc://$PWD/s

# made COUNT: recorded once, small noisy images of 32 x 32 pixels
bragg-geometry --detpixels=32 --pixel=3.2 --distance=120 --ncells=5 |
	bragg-orient --frames=80 --random --seed=7 --hit-rate=0.8 --truth=truth.tsv | bragg-intensity --threads=1 |
	bragg-noise --seed=9 | bragg-tap --record=frames.rec >/dev/null 2>&1

# serve OPTION...: the frames for one client, whose lines are in `seen`; NAME.sent is the file of --sent
serve() {
	rm -f endpoint status
	{
		bragg-replay $replay frames.rec | bragg-serve --bind="$S" --linger=$linger "$@" >endpoint 2>message
		echo $? >status
	} &
	soon test -s endpoint
}
client() { # PROTOCOL TYPE: its lines are in `seen`
	/usr/bin/python3 "$BRAGG_TESTS/cli/serve_faults.py" "$1" "$S" 32 "$2" >client || complain "client: $?"
	wait
	grep -v '^cuts\|^pause' client >seen
}
linger=2 replay=''
column() { # NAME FILE: of a table
	awk -F'\t' -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$2"
}
# sent_says FILE: `NUMBER WHAT` of every message that was taken, as a client must see it
sent_says() {
	awk -F'\t' -v protocol="$protocol" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["lattice"] != "0" && $at["lattice"] != "-" { next }
		$at["fate"] == "taken" {
			what = $at["fault"]
			if (what ~ /^(duplicate|swap|stall|cut)$/) what = "-"
			print (what ~ /^(truncate|empty)$/ || protocol what ~ /^(json-arrayheader:frame|lclstreamer-hdf5header:timestamp)$/ ? "?" : $at["frame"]), what }' "$1"
}

mix=duplicate:0.07,drop:0.07,swap:0.07,truncate:0.07,header:0.07,type:0.07,shape:0.07,empty:0.07,large:0.07
for protocol in karabo-bridge karabo-bridge-1 crystfel crystfel-hdf5 json-array array-1.0 lclstreamer lclstreamer-hdf5 dectris1 dectris2 jungfraujoch; do
	kinds=$mix type=uint16 options=''
	case $protocol in
	karabo-bridge) kinds=$mix,nan:0.07 options=--dtype=float32 type=float32 ;;
	karabo-bridge-1) options=--protocol-version=1.0 ;;
	crystfel) type=int32 ;;
	json-array) kinds=$mix,nan:0.07 options=--dtype=float32 type=float32 ;;
	*-hdf5) options=--payload=hdf5 ;;
	esac
	name=${protocol%-1}
	# shellcheck disable=SC2086 # several options
	serve --protocol="${name%-hdf5}" $options --inject="$kinds" --inject-seed=3 --sent="$protocol.sent"
	client "$protocol" $type
	is "$protocol: the end" "$(cat status)" 0
	sent_says "$protocol.sent" >said
	check "$protocol: the client sees the faults that --sent lists" diff said seen
	faults=$(column fault "$protocol.sent" | sed 's/:.*//' | sort -u | tr '\n' ' ')
	note "$protocol: $(column fault "$protocol.sent" | sed 's/:.*//' | sort | uniq -c | tr -s ' \n' ' ')"
	is "$protocol: every kind was there" "$faults" \
		"$(printf -- '-\n%s' "$kinds" | tr ',' '\n' | sed 's/:.*//' | sort -u | tr '\n' ' ')"
	check "$protocol: a warning at once names the faults" grep -q "^bragg-serve: warning: --inject=$kinds, seed 3: clients get frames with faults" message
	check "$protocol: a warning at the end counts the faults" grep -q '^bragg-serve: warning: --inject: faults in duplicate [1-9]' message
done
kinds() { # of the faults of each frame, from a file of --sent
	cut -f1,40 "$1" | sed 's/:.*//' | sort -u
}
kinds crystfel.sent >one
kinds jungfraujoch.sent >two
check 'the same seed gives the same faults by each protocol' diff one two
serve --protocol=crystfel --inject=$mix --inject-seed=4 --sent=other.sent
client crystfel int32
kinds other.sent >two
check_status 'another seed gives other faults' 1 cmp -s one two

# the truth is that of the table of bragg-orient
serve --sent=plain.sent --rate=500
client karabo-bridge uint16
is 'without --inject nothing is wrong' "$(cut -d' ' -f2 seen | sort | uniq -c | tr -s ' ')" ' 80 -'
is 'no message names --inject' "$(grep -c inject message)" 0
check '--sent: the columns of the ground truth' sh -c 'cut -f1-36 plain.sent | diff - truth.tsv'
is '--sent: all messages were taken, without a fault' "$(column fate plain.sent | sort -u) $(column fault plain.sent | sort -u) $(column rate_Hz plain.sent | sort -u)" 'taken - 500'
check '--sent: the times of sending follow the rate' sh -c "cut -f37 plain.sent | awk 'NR > 1 { if (\$1 + 1e-6 < last) exit 1; last = \$1; first = first ? first : \$1 }
	END { exit !(last - first > 0.15 && last - first < 20) }'"
linger=0
serve --sent=dropped.sent --policy=drop-old --queue=4
wait
linger=2
is '--sent: messages that no client took are dropped' "$(column fate dropped.sent | sort -u) $(column frame dropped.sent | sort -u | wc -l)" 'dropped 80'

# order and pauses, as they are
replay=--first=9
serve --inject=swap:1
client karabo-bridge uint16
is 'swap: two change places, one that is left comes last' "$(cut -d' ' -f1 seen | tr '\n' ' ')" '1 0 3 2 5 4 7 6 8 '
serve --inject=duplicate:1
client karabo-bridge uint16
is 'duplicate: each twice' "$(cut -d' ' -f1 seen | tr '\n' ' ')" '0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 '
serve --inject=drop:1 --sent=none.sent
wait
is 'drop: no message is sent, and --sent lists all as withheld' "$(cat status) $(column fate none.sent | sort -u) $(column frame none.sent | wc -l)" '0 withheld 9'
replay=--first=3
serve --inject=stall:1:0.4
client karabo-bridge uint16
check 'stall: the client waits' awk '/^pause/ { found = $2 >= 0.35 } END { exit !found }' client
replay=--first=6
serve --inject=cut:1 --rate=2 --sent=cut.sent # frames wait for the client, however late it comes
client karabo-bridge uint16
check "cut: the connection breaks: $(grep cuts client)" test "$(sed -n 's/^cuts //p' client)" -ge 3
serve --protocol=dectris2 --inject=cut:1 --rate=2
client dectris2 uint16
check "cut: of a series: $(grep cuts client)" test "$(sed -n 's/^cuts //p' client)" -ge 3

# bad options and places
B="bragg-serve --in=ipc://$PWD/none --bind=$S"
refuse() { # NAME STATUS TEXT OPTION...
	name=$1 want=$2 text=$3
	shift 3
	status=0
	$B "$@" >/dev/null 2>message || status=$?
	is "$name" "$status $(wc -l <message) $(grep -c -e "$text" message)" "$want 1 1"
}
refuse 'an unknown kind' 2 "'nans' is malformed; expected KIND:PROBABILITY" --inject=nans:0.1
refuse 'no probability' 2 "expected KIND:PROBABILITY" --inject=nan
refuse 'a probability above 1' 2 'inject' --inject=drop:1.5
refuse 'probabilities above 1' 2 'add up to 1.2' --inject=drop:0.6,cut:0.6
refuse 'a kind twice' 2 'more than once' --inject=drop:0.1,drop:0.2
refuse 'seconds without a stall' 2 'only the fault stall takes seconds' --inject=drop:0.1:3
refuse 'nan where there are only integers' 2 'dectris2 has no float32 pixels' --protocol=dectris2 --inject=nan:0.1
refuse 'nan among integers' 2 'nan needs --dtype=float32' --inject=nan:0.1
refuse 'a seed for nothing' 2 'needs --inject' --inject-seed=3
refuse '--sent does not replace a file' 1 'plain.sent exists' --sent=plain.sent
refuse '--sent in a missing folder' 1 'no/folder' --sent=no/folder/x.sent
replay=--first=3
rm -f endpoint
bragg-replay --first=60 frames.rec | bragg-serve --bind="$S" --policy=drop-new --linger=0 --sent=/dev/full >endpoint 2>message
is 'a full disk is said' "$? $(grep -c 'dev/full' message)" '1 1'
check 'no file of --sent is left' sh -c '! ls | grep part'
finish
