#!/bin/sh
# What holds for every protocol of bragg-serve: twelve frames with the pixels of bragg-write and the values of karabo-bridge, clients
# with and without keys, a client that leaves, and a client that comes when --policy has dropped frames.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'clients of all protocols' python:zmq python:msgpack python:cbor2 python:h5py python:numpy
scratch
export PYTHONPATH="$BRAGG_TESTS/cli"
bragg-geometry --detpixels=40,32 --pixel=3.2 --distance=120 --ncells=5 |
	bragg-orient --frames=12 --random --seed=7 --hit-rate=0.7 --wavelength-jitter=0.2 | bragg-intensity --threads=1 |
	bragg-noise --seed=9 | bragg-tap --record=frames.rec >/dev/null 2>&1
bragg-replay frames.rec | bragg-write 'a_%d.raw'
bragg-run --make-keys=keys 2>said

# serve PROTOCOL OPTION...: the frames for clients.  The file `made` says that all frames have come, and `status` that bragg-serve has ended.
serve() {
	form=$1
	shift
	case $form in
	karabo-bridge-1) set -- --protocol-version=1.0 "$@" ;;
	*-hdf5) set -- --payload=hdf5 "$@" ;;
	array-1.0 | jungfraujoch) set -- --truth "$@" ;;
	esac
	name=${form%-1}
	rm -f endpoint status stats made
	{
		{ bragg-replay frames.rec && : >made; } |
			timeout 60 bragg-serve --protocol="${name%-hdf5}" --dtype=$dtype --stats=stats "$@" >endpoint 2>message
		echo $? >status
	} &
	soon test -s endpoint
}
clients() {
	timeout 60 /usr/bin/python3 "$BRAGG_TESTS/full/protocols_client.py" "$1" "ipc://$PWD/s" 12 >taken
}
figure() {
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" stats
}

# fates FATE: frames that --sent gives the fate
fates() {
	awk -F'\t' -v fate="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["fate"] == fate && !seen[$at["frame"]]++ { print $at["frame"] }' sent.tsv
}
# late PROTOCOL: a client that takes all that is left
late() {
	timeout 60 /usr/bin/python3 "$BRAGG_TESTS/cli/serve_faults.py" "$1" "ipc://$PWD/s" 32 $dtype >seen || complain "client: $?"
	sed -n 's/ -$//p' seen >late
}

# karabo-bridge comes first: the others are compared with it
for form in karabo-bridge karabo-bridge-1 crystfel crystfel-hdf5 json-array array-1.0 lclstreamer lclstreamer-hdf5 dectris1 dectris2 jungfraujoch; do
	end='' dtype=uint16 fewest=3
	case $form in
	crystfel) dtype=int32 fewest=12 ;;
	crystfel-hdf5 | karabo-bridge*) fewest=12 ;;
	dectris* | jungfraujoch | lclstreamer) end=end ;;
	esac
	serve $form --bind="ipc://$PWD/s" --client-keys=keys --linger=2 --rate=20
	check "$form: pixels, values, keys, and one client after another" clients $form
	wait
	is "$form: the end" "$(cat status) $(grep -x end taken)" "0 $end"
	# what a PULL socket has in its buffers is lost with it
	is "$form: no frame comes twice, and those that were not on their way come to the next client" \
		"$(grep -v end taken | sort -n | uniq -d) $(($(grep -vc end taken) >= fewest)) $(head -n 2 taken | tr '\n' ' ') $(figure taken)" ' 1 0 1  12'
	note "$form: $(grep -vc end taken) of 12 frames came, $(figure perhaps_lost) were on their way"
	# how the policy and --sent count frames for a client that comes when all are made
	for policy in drop-old $([ $form = crystfel ] || [ $form = array-1.0 ] || [ $form = dectris1 ] && echo drop-new); do
		serve $form --bind="ipc://$PWD/s" --policy=$policy --queue=3 --linger=20 --sent=sent.tsv --overwrite
		soon test -e made
		late $form
		wait
		is "$form, $policy: a client that comes late, --stats and --sent agree" "$(($(figure taken) + $(figure dropped))) $(fates taken | wc -l) $(fates taken | tr '\n' ' ')" "12 $(figure taken) $(tr '\n' ' ' <late)"
		check "$form, $policy: the policy says which frames are left" test "$(tail -n 1 late)" $([ $policy = drop-old ] && echo -eq || echo -lt) 11
	done
done
finish
