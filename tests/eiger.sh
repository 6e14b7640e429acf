# bragg-eiger at free ports, for tests/cli/eiger.t and tests/full/eiger.t.  Streams are at the ports $v1 and $v2.
set -- $(/usr/bin/python3 -c '
import socket
a, b = socket.socket(), socket.socket()
a.bind(("127.0.0.1", 0)), b.bind(("127.0.0.1", 0))
print(a.getsockname()[1], b.getsockname()[1])')
v1=$1
v2=$2

# eiger OPTION...: starts bragg-eiger, as process $server; its address is in the file `address`
eiger() {
	rm -f address
	bragg-eiger --bind=127.0.0.1:0 --legacy-port="$v1" --cbor-port="$v2" "$@" >address 2>message &
	server=$!
	until [ -s address ] || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
}
