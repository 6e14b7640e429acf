"""How a stage in the middle of a pipeline takes part in a stream: the protocol of bragg-wire(5), for bragg.py."""
import os
import signal
import stat
import sys
import tempfile
import time
from subprocess import PIPE, Popen

import zmq

from bragg_wire import (BYE, CREDIT, EXPERIMENT, FENCE, FRAME, FREE, HEARTBEAT, HELLO, LOST, NOTICE_MAX, PART_MAX, TOTAL,
                        WELCOME, End, Port, Sockets, is_local, is_refused, pack, parse_endpoint, ranges)

KINDS, IMAGES = ["nothing", "experiment", "recipe", "image", "anything"], 3
TICK_MS, REOPEN_S, GREET_S, GRACE_S = 100, 0.1, 0.5, 0.5
CREDIT_FIRST, CREDIT_MAX = 2, 1024  # frames that a link may have under way: from the start, and at most
FORMER_RUN = "BRAGG_FORMER_RUN"  # what this process took part in before it began anew


class Link:
    """A neighbour on the data plane."""

    def __init__(self, port, address):
        self.port, self.address = port, address
        self.answered = not port.bound  # it has our hello
        self.given = self.granted = self.gone = False  # the experiment; its first credit; it said bye
        self.lost_s = 0  # since when it cannot be reached, 0: it can
        self.credit = self.messages = 0  # frames that may be sent there; experiments and frames that were, or that came
        self.sent, self.way = [], []  # frames without their credit back; the last of these, which may not have arrived
        self.asked = None  # messages and frames sent when it was asked what had come

    def meet(self, keys):
        self.uuid, self.stage, self.group = keys["uuid"], keys["stage"], keys["group"]
        self.wants = IMAGES if keys["wants"] == KINDS.index("anything") else keys["wants"]
        self.blamed = (keys["gives"] or keys["durable"]) and not keys.get("order")  # when it dies with frames

    def is_open(self):
        return self.answered and not self.gone and not self.lost_s and (self.port.up or self.wants == IMAGES)


class Frame:
    """A frame in this process.  Its worker sets one of parts, error and damaged."""

    def __init__(self, link, message):
        self.link, self.message, self.number = link, message, message.frame
        self.network = link.port.network
        self.parts = self.error = self.groups = None  # groups: that are still to get it
        self.damaged = self.taken = False

    def is_done(self):
        return bool(self.parts or self.error or self.damaged)


class Stream:
    """`worker` computes: see bragg.py."""

    def __init__(self, name, options, worker):
        self.name, self.options, self.worker = name, options, worker
        self.sockets = Sockets(options.keys, options.insecure, self.warn)
        self.uuid, self.run, self.control, self.told = os.urandom(16).hex(), 0, "", ""
        self.former = int(os.environ.get(FORMER_RUN, "0"), 16)
        self.ports, self.links, self.source = [], [], None
        self.pipes, self.line, self.closed_s, self.folder = {}, b"", {}, None  # by direction: True is up
        self.frames, self.ready = [], []  # all that are here, as they came; those to be sent
        self.buried, self.dropped, self.interrupts = set(), 0, 0
        self.start_s = self.heard_s = time.monotonic()
        self.beat_s, self.patience_s, self.ticks = 0, 5, 0
        self.welcomed = self.hello_due = False
        self.bytes_in = self.bytes_out = 0

    def warn(self, text):
        if not self.options.quiet:
            print(f"{self.name}: warning: {text}", file=sys.stderr, flush=True)

    def main(self):
        """Takes part until the end; returns it."""
        try:
            self.open()
            while True:
                self.turn()
        except End as end:
            self.bye(end.status)
            if end.status == 0:
                for port in self.ports:  # nobody waits for what is still on its way to who has left
                    port.linger(50)
            self.sockets.close()
            if self.sockets.refused:
                self.warn(f"{self.sockets.refused} connections were refused: their keys are not admitted")
            if self.folder:
                self.folder.communicate()
            return end

    # --- what is said ---------------------------------------------------------

    def say(self, port, kind, address=(), **keys):
        return port.send(address, pack([1, kind, self.run, 1, 0, 0, self.name, 0, 0], keys, network=port.network))

    def hello(self, port, downstream, address=()):
        return self.say(port, HELLO, address, control=self.told, downstream=downstream, durable=False, gives=IMAGES,
                        wants=IMAGES, group=self.options.group or f"{self.name}/image", identity="python",
                        pid=os.getpid(), stage=self.name, uuid=self.uuid,
                        upstreams=[{"uuid": link.uuid} for link in self.links if link.port.up])

    def bye(self, status):
        """To all neighbours, to who got our hello and has not answered yet, and to the source."""
        for link in self.links:
            if link.answered and not link.gone:
                self.say(link.port, BYE, link.address, reason="", status=status)
        for port in self.ports:
            if port.greeted_s and not self.link_of(port):
                self.say(port, BYE, reason="", status=status)
        if self.source:
            self.say(self.source, BYE, reason="", status=status)

    def beat(self):
        if all(frame.is_done() for frame in self.frames):
            self.ticks += 1  # who waits for others does not stand still
        ids = {frame.number for frame in self.frames}.union(*(link.way for link in self.links))
        self.say(self.source, HEARTBEAT, ids=ranges(sorted(ids)), progress=self.ticks + self.worker.steps(),
                 work=self.worker.work(self.bytes_in, self.bytes_out))
        for link in self.links:
            if link.given and link.is_open() and not link.asked:
                link.asked = link.messages, list(link.sent)
                self.say(link.port, HEARTBEAT, link.address, ids=[], progress=link.messages)

    def greet(self, now):
        """Says hello where we connect, again when there is no answer: who was there may have died before it came."""
        for port in self.ports:
            link = self.link_of(port)
            if port.bound or not port.socket or not (port.up or self.run):
                continue
            if port.greeted_s and (link and not link.lost_s or now < port.greeted_s + GREET_S):
                continue
            if port.greeted_s and port.network:
                self.cut(port)  # without the hellos that wait for a connection
            elif self.hello(port, port.up):
                port.greeted_s = now
        for link in self.links:
            if not link.answered and (link.port.up or self.run):
                link.answered = self.hello(link.port, link.port.up, link.address)

    # --- neighbours -----------------------------------------------------------

    def link_of(self, port, address=None):
        return next((link for link in self.links if link.port is port and address in (None, link.address)), None)

    def meet(self, port, address, message):
        keys = message.keys
        if keys["uuid"] in self.buried or not (keys["wants"] or keys["gives"]) or message.run == self.former != 0:
            self.dropped += 1
            return
        link = self.link_of(port, address)
        if link and not port.bound and not link.lost_s:
            self.cut(port)  # the other end asks for another connection
            return
        if not link or not port.bound:
            link = Link(port, address)
            self.links.append(link)
        link.meet(keys)
        for other in [other for other in self.links if other.port is port and other is not link]:
            if other.uuid == link.uuid or not port.bound:  # it came back, or another took its place
                self.drop(other, died=other.uuid != link.uuid)
        if keys["downstream"] == port.up:
            raise End(2, f"{link.stage}: both ends of {port.endpoint} are {'--in' if port.up else '--out'}")
        if port.up:
            self.meet_upstream(link, message)

    def meet_upstream(self, link, message):
        gives, control = message.keys["gives"], self.resolve(message.keys["control"], link.port)
        if gives != IMAGES:
            raise End(2, f"wants image, got {KINDS[gives]} from {link.stage}")
        if not self.run:
            self.learn(message.run, message.keys["control"] if is_local(control) else control, control)
        elif message.run != self.run and control != self.control:
            raise End(1, f"{link.stage} belongs to another run")
        elif message.run != self.run:
            self.drop(link, died=False)  # the source was started again, and our turn will come
        self.hello_due = True

    @staticmethod
    def resolve(control, port):
        """Where a source that listens on all interfaces is: it came with the hello of a stage there."""
        host, _, number = control.rpartition(":")
        everywhere = host in ("tcp://0.0.0.0", "tcp://[::]") and port.network and not port.bound
        return f"{port.endpoint.rpartition(':')[0]}:{number}" if everywhere else control

    def learn(self, run, told, control):
        for port in self.ports:
            if is_local(told) and not port.up and not is_local(port.endpoint):
                raise End(2, f"stages on other hosts, to which --out={'@' * port.bound}{port.endpoint} leads, cannot reach the "
                             f"source at {told}: give the stage that numbers the frames --control=tcp://HOST:PORT")
        self.run, self.control, self.heard_s = run, control, time.monotonic()
        self.told = told  # as the next stages learn it
        self.source, self.hello_due = Port(self.sockets, control, False, True, NOTICE_MAX), True
        if False in self.pipes:
            os.write(self.stdout, f"bragg1 {run:016x} {self.pipes[False].endpoint} {told}\n".encode())

    def drop(self, link, died):
        """A link ends: frames that came through it stay, those that were sent there are lost."""
        self.links.remove(link)
        for frame in self.frames:
            frame.link = None if frame.link is link else frame.link
        self.hello_due = self.hello_due or link.port.up
        if link.sent and link.blamed:
            self.say(self.source, LOST, ids=ranges(link.sent), status=int(died))

    def bury(self, link):
        if link.port in self.pipes.values():
            raise End(1, f"{link.stage} (the stage {'before' if link.port.up else 'after'} this one) died")
        self.drop(link, died=True)
        if not link.port.bound:
            self.cut(link.port)  # without what waits for the dead

    def cut(self, port):
        """A connection begins anew; should it be a death, the source tells."""
        port.drop()
        for link in self.links:
            if link.port is port:
                link.lost_s = link.lost_s or time.monotonic()

    def damaged(self, link):
        """What was damaged may have been anything: through a network the link begins anew."""
        self.dropped += 1
        if link and link.port.network and not link.port.bound:
            self.cut(link.port)
        elif link and link.port.network:
            link.answered = False  # another hello asks the other end to connect anew

    # --- the data plane -------------------------------------------------------

    def take(self, port, address, message):
        link = self.link_of(port, address)
        if not message:
            self.damaged(link)
        elif message.kind == HELLO:
            self.meet(port, address, message)
        elif link and (message.run == self.run != 0 or message.kind == BYE and not message.run):
            (self.take_up if port.up else self.take_down)(link, message)
            if message.kind == BYE:
                link.gone, link.sent, link.way = True, [], []
                if message.keys["status"]:
                    raise End(130 if message.keys["status"] == 130 else 1)
        else:
            self.dropped += 1

    def take_up(self, link, message):
        if message.kind == HEARTBEAT:
            self.say(link.port, HEARTBEAT, link.address, ids=[], progress=link.messages)
        elif message.kind in (EXPERIMENT, FRAME):
            link.messages += 1
            self.bytes_in += message.size()
            (self.on_experiment if message.kind == EXPERIMENT else self.on_frame)(link, message)

    def on_experiment(self, link, message):
        if link.port.network and not message.is_whole():
            self.damaged(link)
        elif not self.worker.lineage:
            self.worker.begin(message, any(port.network for port in self.ports))
        elif message.keys["lineage"] != self.worker.came:
            raise End(1, f"{link.stage} computes something else than the others before this stage "
                         f"(lineage {message.keys['lineage']}, not {self.worker.came})")

    def on_frame(self, link, message):
        if not link.granted or sum(frame.link is link for frame in self.frames) >= CREDIT_MAX:
            raise End(1, f"{link.stage} sent a frame without credit")
        self.ticks += 1
        self.frames.append(Frame(link, message))
        self.worker.put(self.frames[-1])

    def take_down(self, link, message):
        if message.kind == HEARTBEAT and link.asked:
            self.on_answer(link, message.keys["progress"])
        elif message.kind == CREDIT:
            link.credit = min(CREDIT_MAX, link.credit + message.keys["grant"])
            for number in [number for number in link.sent if message.lists(number)]:
                link.sent.remove(number)
                if number in link.way:  # what was sent before it has arrived, too, or is lost
                    del link.way[:link.way.index(number) + 1]

    def on_answer(self, link, progress):
        """So many messages had come when it was asked; the source finds that nobody has the others."""
        (messages, sent), link.asked = link.asked, None
        lost = max(0, messages - progress)
        link.way = [number for number in link.way if number not in sent]
        link.messages -= lost
        link.credit += min(lost, sum(number in sent for number in link.sent))
        link.given = not lost or bool(link.sent)

    def pump(self):
        """Sends what credit allows, the experiment first, and returns credit."""
        links = [link for link in self.links if link.is_open() and self.worker.lineage]
        for link in links:
            if link.port.up and not link.granted:
                link.granted = self.say(link.port, CREDIT, link.address, grant=CREDIT_FIRST, ids=[])
            elif not link.port.up and not link.given:
                link.given = self.send(link, self.worker.experiment)
        for frame in self.worker.results():
            self.finished(frame)
        while self.ready and self.pass_on(self.ready[0], [link for link in links if link.given]):
            self.passed(self.ready.pop(0))

    def finished(self, frame):
        if frame.damaged:
            self.frames.remove(frame)
            self.damaged(frame.link)
        elif frame.error:
            raise End(1, f"frame {frame.number}: {frame.error}")
        else:
            self.ready.append(frame)

    def pass_on(self, frame, links):
        """To one process of each group, the one with the least under way; false while some group has no credit."""
        groups = {link.group for link in links}
        frame.groups = groups & frame.groups if frame.taken else groups
        for group in sorted(frame.groups):
            able = [link for link in links if link.group == group and link.credit and not link.lost_s]
            link = next((link for link in sorted(able, key=lambda link: len(link.sent)) if self.send(link, frame.parts)), None)
            if link:
                link.credit -= 1
                link.sent.append(frame.number)
                link.way.append(frame.number)
                frame.groups.discard(group)
                frame.taken = True
        return frame.taken and not frame.groups

    def send(self, link, parts):
        if link.port.send(link.address, parts):
            link.messages += 1
            self.bytes_out += sum(map(len, parts))
            return True
        link.lost_s = time.monotonic()  # its bye may still be under way
        return False

    def passed(self, frame):
        self.ticks += 1
        self.frames.remove(frame)
        if frame.link and frame.link.is_open():  # else its successor gets credit of its own
            self.say(frame.link.port, CREDIT, frame.link.address, grant=1, ids=ranges([frame.number]))

    # --- the control plane ----------------------------------------------------

    def hear(self, port, address, message):
        if not message or message.kind == HELLO:
            self.hello_due = True  # whatever it was, the source repeats what matters
        if message and message.run == self.run:
            self.heard_s = time.monotonic()
            self.obey(message.kind, message.keys)
        elif message and message.kind == WELCOME and not message.run:
            self.heard_s = time.monotonic()  # a source that was started again, and has no experiment yet
        elif message and message.kind == WELCOME and not self.pipes:
            self.begin_anew()

    def obey(self, kind, keys):
        self.welcomed = self.welcomed or kind in (WELCOME, TOTAL)
        if kind == WELCOME:
            self.patience_s = min(max(keys["dead_after_s"], 0.1), 1e6)
        elif kind == FREE:
            raise End(keys["status"] if keys["status"] in (0, 130) else 1)
        elif kind == FENCE and keys["uuid"] == self.uuid:
            self.links, self.source = [], None  # nobody is told
            raise End(1, "the source took this process for dead")
        elif kind == FENCE and not keys["uuid"]:
            raise End(130 if keys["status"] == 130 else 1)
        elif kind == FENCE:
            self.buried.add(keys["uuid"])
            for link in [link for link in self.links if link.uuid == keys["uuid"] and not link.gone]:
                self.bury(link)

    def begin_anew(self):
        """The source was started again and opened another run: so does this process, from the start."""
        os.environ[FORMER_RUN] = f"{self.run:016x}"
        self.sockets.close()
        os.execv(sys.executable, sys.orig_argv)

    def pump_control(self, now):
        if self.source.reopen(now, REOPEN_S):
            self.hello_due = True
        if self.hello_due:
            self.hello_due = not self.hello(self.source, False)
        if now > self.beat_s + min(1, self.patience_s / 5):
            self.beat_s = now
            self.beat()
        patience_s = self.options.source_timeout or 2 * self.patience_s
        if now > self.heard_s + (patience_s if self.welcomed else self.options.start_timeout):
            raise End(1, f"the source at {self.control} does not answer any more")

    # --- the loop -------------------------------------------------------------

    def open(self):
        self.wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self.worker.wake = lambda: os.write(waker, b"\0")
        signal.set_wakeup_fd(waker)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
        self.stdout = os.dup(1)  # what the function prints must not go there
        sys.stdout = sys.stderr
        for up, texts in ((False, self.options.outs), (True, self.options.ins)):
            for bound, endpoint in [parse_endpoint(text) for text in texts]:
                self.ports.append(Port(self.sockets, endpoint, bound, up, PART_MAX if up else NOTICE_MAX))
            if not texts:
                self.open_pipe(up)

    def open_pipe(self, up):
        kind = os.fstat(0 if up else 1).st_mode
        if not stat.S_ISFIFO(kind) and not stat.S_ISSOCK(kind):
            raise End(2, f"{'stdin' if up else 'stdout'} is no pipe: put a stage {'before' if up else 'after'} this one, "
                         f"or name an endpoint with --{'in' if up else 'out'}=ENDPOINT")
        self.pipes[up] = None
        if not up:
            path = tempfile.mkdtemp(prefix="bragg-")  # a shell removes it, however this process ends
            self.folder = Popen(["sh", "-c", 'cat; rm -r "$0"', path], stdin=PIPE, stdout=2, start_new_session=True)
            self.pipes[up] = Port(self.sockets, f"ipc://{path}/data", True, up, NOTICE_MAX)
            self.ports.append(self.pipes[up])

    def read_pipe(self, now):
        """The stage before says where it is; the end of the pipe is its own."""
        text = os.read(0, 4096)
        if not text:
            self.closed_s[True] = now
        if self.pipes[True]:
            return
        self.line += text
        word, run, data, control, *_ = [*self.line.decode("ascii", "replace").split(), "", "", "", ""]
        if not text and not self.line:
            raise End(1)  # it has said why
        if self.line.endswith(b"\n") and word == "bragg1" and control:
            self.pipes[True] = Port(self.sockets, data, False, True, PART_MAX)
            self.ports.append(self.pipes[True])
            self.learn(int(run, 16), control, control)
        elif not text or b"\n" in self.line or len(self.line) > 1000:
            raise End(2, f"stdin is no pipe from a stage: it begins with {self.line[:40].decode('ascii', 'replace')!r}")

    def check(self, now):
        """Who died without a word, and who never came."""
        for up, since_s in self.closed_s.items():
            link = self.link_of(self.pipes[up]) if self.pipes[up] else None
            if now > since_s + GRACE_S and not (link and link.gone):
                self.bury(link) if link else self.fail()
        for link in [link for link in self.links if link.lost_s and not link.gone]:
            if now > link.lost_s + self.patience_s:
                self.bury(link)
        if not self.run and now > self.start_s + self.options.start_timeout:
            refused = [port.endpoint for port in self.ports if port.up and not port.bound and is_refused(port.endpoint)]
            raise End(1, f"nobody binds {refused[0]}: one side needs @, as in --in=@{refused[0]}" if refused else
                      "no stage is connected to my input")

    def on_signal(self, number):
        self.interrupts += number == signal.SIGINT
        if number in (signal.SIGTERM, signal.SIGHUP):
            raise End(1, f"ended by signal {number} ({signal.Signals(number).name})")
        if self.interrupts > 1 or self.interrupts and not self.welcomed:
            raise End(130)  # after the first the source ends the stream

    def listen(self, port, events, handle):
        cut = port.was_cut()
        if cut or port.socket in events:
            for address, message in port.receive():
                try:
                    handle(port, address, message)
                except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                    self.dropped += 1
                    self.warn(f"dropped a message that is not as bragg-wire(5) says: {error!r}")
        link = self.link_of(port)
        if cut and port.socket and not (link and link.gone):
            self.cut(port)

    def wait(self):
        """What has happened, as zmq.Poller tells."""
        poller = zmq.Poller()
        sockets = [self.sockets.gate, *(s for port in [*self.ports, self.source] if port for s in (port.socket, port.watch))]
        for readable in (*filter(None, sockets), self.wake):
            poller.register(readable, zmq.POLLIN)
        for fd, up, flag in ((0, True, zmq.POLLIN), (1, False, zmq.POLLERR)):
            if up in self.pipes and up not in self.closed_s:
                poller.register(fd if up else self.stdout, flag)
        return dict(poller.poll(TICK_MS))

    def turn(self):
        events, now = self.wait(), time.monotonic()
        for number in os.read(self.wake, 4096) if self.wake in events else b"":
            self.on_signal(number)
        if 0 in events and True in self.pipes:
            self.read_pipe(now)
        if self.stdout in events:
            self.closed_s[False] = now
        if self.sockets.gate in events:
            self.sockets.judge()
        for port in self.ports:
            self.listen(port, events, self.take)
        if self.source:
            self.listen(self.source, events, self.hear)
        self.check(now)
        for port in self.ports:
            port.reopen(now, REOPEN_S)
        self.greet(now)
        self.pump()
        if self.source:
            self.pump_control(now)
