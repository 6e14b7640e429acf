#!/bin/sh
# Keys: who has none, or others, takes no frame, gives none and says nothing that counts; who has
# the watcher's sees how far a run is and no more.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"
at=tcp://127.0.0.1

# files
check 'keys are made' bragg-run --make-keys=keys
check 'a second set of keys can be made' bragg-run --make-keys=other
is 'nobody else reads them' "$(stat -c %a keys keys/* | tr '\n' ' ')" '700 600 600 600 600 600 600 '
is 'no two are the same' "$(cat keys/* other/* | grep -c secret-key) $(cat keys/*secret other/*secret | grep -e '-key =' | sort | uniq -d | wc -l)" '6 0'
check_status 'a folder with something in it is refused' 2 bragg-run --make-keys=keys
mkdir -m 755 mine full
check 'an empty folder will do' bragg-run --make-keys=mine
is 'the folder of keys is closed to other users' "$(stat -c %a mine)" 700
if has python:zmq.auth; then
	/usr/bin/python3 - <<-'END' >loaded
		import zmq, zmq.auth
		for name in "server", "client", "watcher":
		    public, secret = zmq.auth.load_certificate("keys/%s.key_secret" % name)
		    print(zmq.curve_public(secret) == public == zmq.auth.load_certificate("keys/%s.key" % name)[0])
	END
	is 'pyzmq reads them' "$(tr '\n' ' ' <loaded)" 'True True True '
else
	skip 'pyzmq reads them' "$lack is missing"
fi

# refused STATUS TEXT COMMAND...: within a second, in one line
refused() {
	refused_status=$1 refused_text=$2
	shift 2
	"$@" >said 2>&1
	is "$refused_text" "$? $(wc -l <said) $(grep -c -e "$refused_text" said)" "$refused_status 1 1"
}
in=$at:1
refused 2 'needs keys. Use --keys=DIR' teststage make --in=$in --out=@$in
refused 2 'needs keys. Use --keys=DIR' teststage source --in="ipc://$d/x" --out="@ipc://$d/y" --control=$at:*
refused 2 '--keys and --insecure cannot be used together' teststage first --out=@$in --keys=keys --insecure
cp -r keys bad
chmod g+r bad/client.key_secret
refused 2 'client.key_secret: other users can read it (got mode 0640)' teststage first --out=@$in --keys=bad
chmod 600 bad/client.key_secret
chmod 755 bad
refused 2 'bad: other users can read it (got mode 0755)' teststage first --out=@$in --keys=bad
chmod 700 bad
chmod 666 bad/watcher.key
refused 2 'watcher.key: other users can change it' teststage first --out=@$in --keys=bad
chmod 600 bad/watcher.key
sed 's/secret-key = "./&&/' keys/client.key_secret >bad/client.key_secret
refused 3 'client.key_secret:4: not a key; expected secret-key = "KEY" with 40 characters of Z85' teststage first --out=@$in --keys=bad
{ grep public-key other/client.key && grep secret-key keys/client.key_secret; } >bad/client.key_secret
refused 3 'the public key does not belong to the secret key' teststage first --out=@$in --keys=bad
echo hello >bad/client.key_secret
refused 3 'no line public-key' teststage first --out=@$in --keys=bad
rm bad/client.key_secret
mkfifo -m 600 bad/client.key_secret
refused 3 'client.key_secret: not an ordinary file' teststage first --out=@$in --keys=bad
rm bad/client.key_secret
refused 1 'client.key_secret: No such file' teststage first --out=@$in --keys=bad
cp keys/client.key_secret bad
rm bad/server.key_secret
refused 2 'a process that binds needs server.key_secret' teststage first --out=@$at:0 --keys=bad
if [ "$(id -u)" = 0 ]; then
	cp -r keys foreign
	chown 1 foreign/client.key_secret
	refused 2 'belongs to another user' teststage first --out=@$in --keys=foreign
else
	skip 'belongs to another user' 'only root gives files away'
fi

# A run with keys that stands still, and so goes on, until all this is over: the sink only connects.
expected=$(plain 300)
fresh
rm -rf watch
set -- $(free_ports 4)
source=$1 control=$2 work=$3
stage first first --out="@ipc://$d/g" &
stage source source --in="ipc://$d/g" --out="@$at:$source" --control="$at:$control" --frames=300 --keys=keys \
	--rejoin-timeout=60 --hang=10000 &
stage make1 make --in="$at:$source" --out="ipc://$d/w" --stall-from=200 --keys=keys &
stage work work --in="@ipc://$d/w" --out="@$at:$work" --keys=keys &
stage sink sink out --in="$at:$work" --keys=bad &
flowing

# strangers, all at once: no key, keys of another run, one key of it
cp -r keys half
cp other/client.key_secret half
cp -r keys disguised
cp keys/watcher.key_secret disguised/client.key_secret
mkdir stolen
for kind in none other half disguised; do
	keys=--keys=$kind
	[ $kind != none ] || keys=--insecure
	teststage make --in="$at:$source" --out="@ipc://$d/$kind" --start-timeout=3 $keys 2>said.$kind &
	pids="$pids $!"
	teststage sink stolen --in="$at:$work" --start-timeout=3 $keys 2>said.sink.$kind &
	pids="$pids $!"
done
mkdir -m 700 watch
cp keys/server.key keys/watcher.key_secret watch
check 'a watcher sees the run with two files' bragg-top --once --keys=watch "$at:$control"
check_status 'a watcher without keys needs to say so' 2 bragg-top --once "$at:$control"
refusal() {
	bragg-top --once "$1" "$at:$control" 2>&1 >/dev/null | tail -n 1
}
# its connection ends at either end first
is 'a watcher without keys gets a message that says why it sees nothing' "$(refusal --insecure | grep -c 'requires\? keys')" 1
is 'a stage with keys of another run is refused' "$(refusal --keys=other)" \
	"bragg-top: $at:$control: every connection ends before both ends agree on keys. Are the keys those of this run?"
cp other/watcher.key_secret half
is 'a stage whose key is not on the list is refused' "$(refusal --keys=half)" "bragg-top: $at:$control: the keys of this process are refused"
forger watch watcher "$at:$source" >credit &
forged=$!
is 'false acknowledgements with the key of a watcher: no answer' "$(forger watch watcher "$at:$control")" 'status 0'
wait $forged
is 'false credit with the key of a watcher: no answer' "$(cat credit)" 'nothing 0'
for pid in $pids; do wait "$pid"; echo $?; done >ended
is 'strangers end with status 1' "$(tr '\n' ' ' <ended)" '1 1 1 1 1 1 1 1 '
is 'without keys: says what is wrong' "$(grep -c 'requires\? keys' said.none said.sink.none | cut -d: -f2 | tr '\n' ' ')" '1 1 '
is 'keys of another run: says what is wrong' "$(grep -c 'Are the keys those of this run?$' said.other said.sink.other | cut -d: -f2 | tr '\n' ' ')" '1 1 '
is 'a key that is not on the list: says what is wrong' "$(grep -c 'the keys of this process are refused$' said.half said.sink.half | cut -d: -f2 | tr '\n' ' ')" '1 1 '
is 'no frame was stolen' "$(find stolen -type f | wc -l)" 0
bragg-top --once --json --keys=watch "$at:$control" >now
check 'bragg-top counts refused connections' perl -MJSON::PP -e 'exit !(decode_json(<>)->{refused} > 10)' now

# who died is replaced, with keys
kill -9 "$(cat make1.pid)"
stage make2 make --in="$at:$source" --out="ipc://$d/w" --keys=keys &
settle
is 'the run ends well with refused connections' "$(statuses first source make2 work sink)" '0 0 0 0 0'
is 'the run with refused connections has all frames' "$(digest out)" "$expected"
is 'a message at the end counts refused connections' "$(grep -c 'warning: refused [1-9][0-9]* connections without a valid key' errors.source errors.work | cut -d: -f2 | tr '\n' ' ')" '1 1 '
is 'nobody speaks of --insecure' "$(cat errors.* | grep -c insecure)" 0

# bragg-run: fresh keys where an endpoint is tcp, for the run only
export XDG_RUNTIME_DIR="$d"
fresh
set -- $(free_ports 1)
cat >p.yaml <<-END
	stages:
	  - {name: first, program: teststage, args: [first]}
	  - {name: source, program: teststage, args: [source, --frames=100, "--control=$at:$1"]}
	  - {name: make, program: teststage, args: [make, --sleep=10]}
	  - {name: sink, program: teststage, args: [sink, $PWD/out]}
END
bragg-run p.yaml >said 2>&1 &
run=$!
flowing
is 'bragg-run makes keys in its private folder' "$(stat -c %a run/bragg-run-*/keys)" 700
check 'a watcher gets them there' bragg-top --once --keys="$(echo run/bragg-run-*/keys)" "$at:$1"
check_status 'processes without a key get nothing from a watched port' 1 bragg-top --once --keys=keys "$at:$1"
wait $run
is 'the run with its own keys ends well' "$? $(find out -type f | wc -l)" '0 100'
is 'the run removes its own keys' "$(find run -name '*.key*')" ''
fresh
check 'bragg-run takes keys that are there' bragg-run --keys=keys --set=source.frames=5 p.yaml
is 'the commands for a shell make them, too' "$(bragg-run --dry-run p.yaml | grep -c -e '^bragg-run --make-keys="$dir/keys"$' -e ' "--keys=$dir/keys"')" 5
is '--insecure gets no keys' "$(bragg-run --dry-run --set=source.insecure p.yaml | grep -c keys)" 0

# clients of a gateway
bragg-geometry --detpixels=16 --ncells=3 | bragg-orient --frames=20 | bragg-intensity |
	bragg-serve --bind="$at:*" --client-keys=keys --socket=push --linger=10 --stats=serve.stats >endpoint 2>said &
until [ -s endpoint ]; do sleep 0.05; done
mkdir good bad.client
server=$!
for kind in other half ''; do
	CLIENT_KEYS=$kind timeout 1 testclient pull "$(cat endpoint)" 20 bad.client >/dev/null 2>&1 &
done
sleep 1
CLIENT_KEYS=keys timeout 60 testclient pull "$(cat endpoint)" 20 good >/dev/null
wait $server
is 'a gateway with keys: clients that have none get nothing' "$(ls good | wc -l) $(ls bad.client | wc -l)" '20 0'
check 'refused connections are counted' perl -MJSON::PP -e 'exit !(decode_json(<>)->{refused} > 2)' serve.stats
check 'a warning gives the number of refused connections' grep -q 'warning: refused [0-9]* connections of clients without a valid key' said
# clients that have bound: the client has the keys of the server
cat >bound.py <<-'END'
	"""bound.py ENDPOINT FOLDER N: binds, and prints how many of N frames came within the time."""
	import sys
	import zmq
	import zmq.auth
	socket = zmq.Context().socket(zmq.PULL)
	socket.curve_publickey, socket.curve_secretkey = zmq.auth.load_certificate(sys.argv[2] + "/server.key_secret")
	socket.curve_server = True
	socket.bind(sys.argv[1])
	came = 0
	while came < int(sys.argv[3]) and socket.poll(20000 if sys.argv[2] == "keys" else 2000):
	    came += len(socket.recv_multipart()) > 0
	print(came)
END
# connected OPTION...: the frames that a client with the keys of $holds took
connected() {
	/usr/bin/python3 bound.py "$at:$1" "$holds" 3 >came &
	client=$!
	bragg-geometry --quiet --detpixels=16 --ncells=3 --default-F=1 | bragg-orient --quiet --frames=3 | bragg-intensity --quiet |
		bragg-serve --protocol=array-1.0 --connect="$at:$1" --client-keys=keys "$2" 2>said >endpoint
	wait $client
	cat came
}
if has python:zmq; then
	set -- $(free_ports 2)
	holds=keys
	is 'a client that has bound gets frames if it has the keys of the server' "$(connected "$1" --policy=wait)" 3
	is 'then nothing is said about encryption' "$(grep -c encrypted said)" 0
	holds=other
	is 'a client with other keys gets none' "$(connected "$2" --policy=drop-new)" 0
	check 'the connections that failed are counted' grep -q 'connections to clients ended before keys were verified' said
fi
finish
