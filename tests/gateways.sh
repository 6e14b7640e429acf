# Streams for real clients, for tests/full: the same frames to files and to a gateway.

# serve_beside NAME SUFFIX OPTION...: bragg-write of NAME/a_%d.SUFFIX and bragg-serve behind
# what comes to the socket NAME.images; returns when the address is in the file `endpoint`.
serve_beside() {
	serve_name=$1 serve_suffix=$2
	shift 2
	rm -f endpoint
	mkdir -p "$serve_name"
	bragg-write --in=ipc://"$PWD/$serve_name.images" "$serve_name/a_%d.$serve_suffix" &
	timeout 120 bragg-serve --in=ipc://"$PWD/$serve_name.images" "$@" >endpoint &
	serve=$!
	until [ -s endpoint ] || ! kill -0 $serve 2>/dev/null; do sleep 0.05; done
}

# live FILE COMMAND...: a pipeline file runs for a client, which finds it at $live, and ends well.
live() {
	live_file=$1
	shift
	timeout 60 bragg-run --quiet --workdir=run --frames=20 "--set=serve.bind=$live" "$BRAGG_TESTS/../pipelines/$live_file" >/dev/null &
	live_run=$!
	check "pipelines/$live_file" timeout 60 "$@"
	live_status=0
	wait "$live_run" || live_status=$?
	is "pipelines/$live_file ends" "$live_status" 0
}
