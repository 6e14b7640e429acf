#!/usr/bin/perl
# strangers.pl SEED COUNT PORT...: connects that often to ports of this host, and says what no
# stage of ours would: noise, or a good beginning of ZMTP 3.0 and then noise in frames.
use strict;
use warnings;
use IO::Socket::INET;

my ($seed, $count, @ports) = @ARGV;
srand $seed;
my $greeting = "\xff" . "\0" x 8 . "\x7f\x03\0NULL" . "\0" x 48;
my $ready    = "\x05READY\x0bSocket-Type\0\0\0\x06DEALER";

sub noise {
	return join '', map { chr int rand 256 } 1 .. shift;
}

# flags (more, long, command), a length that may be a lie, bytes
sub frame {
	my $bytes = noise(int rand 40);
	my $size  = rand() < 0.2 ? int rand 1 << 30 : length $bytes;
	my $long  = $size > 255 || rand() < 0.1;
	return pack($long ? 'CQ>' : 'CC', int(rand 8) & ~2 | 2 * $long, $size) . $bytes;
}

for my $i (1 .. $count) {
	my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $ports[$i % @ports], Timeout => 2)
		or next;
	my $text = $i % 3 == 0 ? noise(1 + int rand 200) : $greeting . pack('CC', 4, length $ready) . $ready;
	$text .= frame() for 1 .. ($i % 3 ? int rand 20 : 0);
	local $SIG{PIPE} = 'IGNORE';
	syswrite $socket, $text;
	select undef, undef, undef, 0.01;
	close $socket;
}
