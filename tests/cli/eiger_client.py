"""Client of bragg-eiger for eiger.t: requests over sockets of its own, and both Streams.
eiger_client.py TEST ADDRESS V1 V2 [FOLDER]"""
import array, base64, hashlib, json, math, os, re, signal, socket, struct, subprocess, sys, threading, time, urllib.request

NAME, ADDRESS, V1, V2 = sys.argv[1:5]
HOST, PORT = re.match(r"http://(.*):(\d+)", ADDRESS).groups()


class Client:
    """A connection that stays open.  An answer must come in one segment if it is small."""

    def __init__(self):
        self.socket = socket.create_connection((HOST, int(PORT)), 30)

    def ask(self, method, path, body="", headers=""):
        body = body.encode("latin1")
        head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}:{PORT}\r\nContent-Length: {len(body)}\r\n{headers}\r\n"
        self.socket.sendall(head.encode() + body)
        return self.answer(method)

    def answer(self, method="GET"):
        data = self.socket.recv(1 << 20)
        self.first = len(data)
        while b"\r\n\r\n" not in data:
            more = self.socket.recv(1 << 20)
            if not more:
                return 0, ""
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        length = 0 if method == "HEAD" or b" 204 " in head[:20] else int(re.search(rb"Content-Length: (\d+)", head)[1])
        while len(body) < length:
            body += self.socket.recv(1 << 20)
        self.length = len(head) + 4 + len(body)
        return int(head.split()[1]), body if b"application/tiff" in head else body.decode()


C = Client()


def get(sub, key):
    version = "1" if sub.startswith("braggpipe") else "1.8.0"
    code, text = C.ask("GET", f"/{sub.split('/')[0]}/api/{version}/{sub.split('/')[1]}/{key}")
    assert code == 200, (key, code, text)
    return json.loads(text)


def value(key, sub="detector/config"):
    return get(sub, key)["value"]


def put(key, v, sub="detector", code=200, client=None):
    r, text = (client or C).ask("PUT", f"/{sub}/api/1.8.0/config/{key}", json.dumps({"value": v}))
    assert r == code, (key, v, r, text)
    return json.loads(text) if r == 200 else text


def command(name, code=200, client=None):
    r, text = (client or Client()).ask("PUT", f"/detector/api/1.8.0/command/{name}")
    assert r == code, (name, r, text)
    return text


def state():
    return value("state", "detector/status")


def keys():
    assert state() == "na"
    assert C.ask("GET", "/detector/api/1.8.0/config/nimages") == (404, "Parameter nimages does not exist")
    command("initialize")
    assert state() == "idle"
    assert C.ask("GET", "/detector/api/version/") == (200, '{"value":"1.8.0","value_type":"string"}')
    assert C.ask("GET", "/detector/api/1.6.0/config/nimages")[0] == 404
    for sub in "detector", "stream", "monitor", "filewriter":
        for task in "config", "status":
            names = get(f"{sub}/{task}", "keys")
            assert names == sorted(names), names
            everything = get(f"{sub}/{task}", "")
            assert sorted(everything) == names
            for n in names:
                d = get(f"{sub}/{task}", n)
                assert C.first == C.length and (C.length <= 512 or n == "element"), (n, C.length)  # one segment, and one recv(512)
                assert list(d) == sorted(d) and d["access_mode"] in ("r", "rw"), d
                assert d["value_type"] in ("float", "int", "uint", "bool", "string", "string[]"), d
    names = get("detector/config", "keys")
    assert "wavelength" not in names and abs(value("wavelength") - 0.99987) < 1e-5
    assert get("detector/config", "nimages") == {"access_mode": "rw", "max": 1000000000, "min": 1, "unit": "", "value": 1, "value_type": "uint"}
    energy = ["element", "flatfield", "incident_energy", "photon_energy", "threshold/1/energy", "threshold/1/flatfield",
              "threshold/2/energy", "threshold/2/flatfield", "threshold_energy", "wavelength"]
    assert put("photon_energy", 13500.3) == energy
    assert (value("threshold/1/energy"), value("threshold_energy"), value("incident_energy")) == (6750.15, 6750.15, 13500.3)
    assert abs(value("threshold/2/energy") - 18900.42) < 1e-9
    assert put("element", "Cu") == energy and value("photon_energy") == 8047.78 and value("element") == "Cu"
    assert put("wavelength", 1) == energy and value("element") == "" and abs(value("photon_energy") - 12398.42) < 0.01
    times = ["bit_depth_image", "bit_depth_readout", "count_time", "countrate_correction_count_cutoff", "frame_count_time", "frame_time"]
    assert put("frame_time", 0.004) == times and value("count_time") == 0.0039999 and value("bit_depth_image") == 16
    assert value("countrate_correction_count_cutoff") == 46038
    assert put("count_time", 0.5) == times and value("frame_time") == 0.5000001 and value("bit_depth_image") == 32
    assert put("threshold/difference/mode", "disabled") == ["difference_mode"]
    assert put("nimages", 3.0) == ["nimages"] and value("nimages") == 3
    assert put("auto_summation", False) == ["auto_summation", "bit_depth_image", "countrate_correction_count_cutoff", "frame_count_time"]
    assert value("bit_depth_image") == 16 and value("countrate_correction_count_cutoff") == 65534
    table = get("detector/config", "countrate_correction_table")
    assert len(table.pop("value")) == 65535 and table == {"access_mode": "r", "value_type": "uint[]"}
    setup(frame_time=0.004, counting_mode="normal")
    normal = value("countrate_correction_table")
    put("counting_mode", "retrigger")
    retrigger = value("countrate_correction_table")
    for n in 0, 1, 1000, 20000:  # photons in count_time with a dead time of 70 ns
        share = 70e-9 * n / 0.0039999
        assert normal[round(n * math.exp(-share))] in (n - 1, n, n + 1) and retrigger[round(n / (1 + share))] in (n - 1, n, n + 1), n
    assert normal[-1] == retrigger[-1] == 46038 == len(normal) - 1
    setup(counting_mode="normal", count_time=0.5)
    assert "cannot be set" in put("countrate_correction_table", [1], code=400) and get("detector/config", "roi_mode")["allowed_values"] == ["disabled"]
    put("auto_summation", True)
    put("beam_center_x", 100)
    assert value("detector_translation")[0] == 100 * 7.5e-5
    for key, v in (("nimages", 3.5), ("nimages", True), ("nimages", 0), ("nimages", "3"), ("nimages", -1), ("nimages", 10**12),
                   ("photon_energy", 1), ("photon_energy", None), ("compression", "zip"), ("compression", 1), ("auto_summation", 1), ("roi_mode", "4M"),
                   ("trigger_mode", "extg"), ("mask_to_zero", 1), ("fast_arm", 1), ("bit_depth_image", 8)):
        text = put(key, v, code=400)
        assert text.startswith(key) and "\n" not in text, text
    assert put("photon_energy", 12.7, code=400) == "photon_energy: the value is out of range (got 12.7); expected 3500 to 40000 eV"
    assert value("nimages") == 3
    put("no_key", 1, code=404)
    url = "/detector/api/1.8.0/config/nimages"
    for body in "", "{", "[1]", "3", '{"valu":1}', '{"value":NaN}', '{"value":1e400}', "[" * 5000, '{"value":' + "[" * 60 + "]" * 60 + "}", '{"value":"\\u0000"}', "\xff":
        assert C.ask("PUT", url, body)[0] == 400, body
    bulk = json.dumps({"nimages": {"value": 7}, "ntrigger": {"value": 2}})
    assert C.ask("PUT", "/detector/api/1.8.0/config", bulk) == (200, '["nimages","ntrigger"]')
    bulk = json.dumps({"nimages": {"value": 9}, "ntrigger": {"value": 0}})
    assert C.ask("PUT", "/detector/api/1.8.0/config", bulk)[0] == 400 and value("nimages") == 7
    assert C.ask("POST", url)[0] == 405 and C.ask("DELETE", url)[0] == 405
    assert C.ask("HEAD", url)[0] == 200
    assert C.ask("PUT", "/detector/api/1.8.0/command/trigger")[0] == 400
    assert C.ask("PUT", "/detector/api/1.8.0/command/arm", '{"value":1}')[0] == 404
    assert C.ask("PUT", "/detector/api/1.8.0/command/jump")[0] == 404
    assert C.ask("GET", "/detector/api/1.8.0/command/arm")[0] == 405
    assert "trigger" in get("detector/command", "keys")
    for name in "cancel", "abort", "disarm":
        assert command(name) == '{"sequence id": 0}'
    put("detector_distance", 0)
    assert "detector_distance" in command("arm", 400) and state() == "idle"
    put("detector_distance", 0.15)
    for axis, start, increment in ("omega", 180000, 360), ("chi", 180000, 360), ("kappa", 180000, 360), ("phi", 180000, 360), ("two_theta", 180, 0):
        for key, most in (f"{axis}_start", start), (f"{axis}_increment", increment):
            answer = get("detector/config", key)
            assert (answer["min"], answer["max"], answer["value"], answer["access_mode"]) == (-most, most, 0, "rw"), answer
            if most:
                assert put(key, most / 2) == [key] and value(key) == most / 2
            else:
                assert put(key, 5, code=400) == f"{key}: the detector does not move during a series (got 5); expected 0 deg"
            assert put(key, 0) == [key] and value(key) == 0
    setup(chi_increment=0.5, phi_increment=-1)
    assert command("arm", 400) == ("arm: two axes rotate at once (got chi_increment 0.5 deg and phi_increment -1 deg); expected one. "
                                   "Set the other increment to 0")
    setup(chi_increment=0, phi_increment=0)
    assert put("chi_axis", [0, -1, 0]) == ["chi_axis"] and value("chi_axis") == [0, -1, 0] and "chi_axis" not in names
    for v in [0, 0, 0], [1, 2], [1, 2, 3, 4], "x", 1, [1, 2, "3"], [1e9, 0, 0], [True, 0, 0]:
        assert "expected three numbers" in put("chi_axis", v, code=400), v
    for key in "two_theta_axis", "transformation_order", "detector_orientation", "test_image_mode", "test_image_value", "auto_sum_strict":
        assert get("detector/config", key)["access_mode"] == "r" and "read-only" in put(key, value(key), code=400), key
    put("header_appendix", None, "stream", 400)
    assert put("nexpi", 2, code=400) == "nexpi: only the mode extg, which does not exist here, sums exposures (got 2); expected 1"
    assert put("nexpi", 1) == ["nexpi"] and get("detector/config", "nexpi")["access_mode"] == "rw"
    move(sample_z=150000)
    assert "sample_z" in command("arm", 400) and state() == "idle"
    move(sample_z=0)
    # what arm would refuse, because an option has another range, is refused here
    for key, v, limits in (("omega_start", 180001, "-180000 to 180000 deg"), ("omega_increment", -361, "-360 to 360 deg"),
                           ("two_theta_start", 181, "-180 to 180 deg"), ("detector_distance", 1001, "0 to 1000 m"),
                           ("beam_center_x", 1e6, "-900000 to 900000")):
        assert put(key, v, code=400).endswith(f"; expected {limits}"), key
    put("omega_start", 180000)
    move(omega=180000)
    command("arm")
    assert state() == "ready"
    command("initialize")
    move(omega=0)
    assert value("omega_start") == 0 and value("nimages") == 1


def raw(text):
    s = socket.create_connection((HOST, int(PORT)), 30)
    s.sendall(text if isinstance(text, bytes) else text.encode())
    return s


def code(text):
    s = raw(text)
    data = s.recv(65536)
    s.close()
    return int(data.split()[1]) if data else 0


def hostile():
    many = [Client() for _ in range(100)]
    half = [raw("GET /detector/api/1.8.0/status/state HTTP/1.1\r\nHost: loc") for _ in range(20)]
    body = [raw(f"PUT /detector/api/1.8.0/config/nimages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60\r\n\r\n{{") for _ in range(20)]
    host = f"Host: {HOST}\r\n"
    line = "GET /detector/api/1.8.0/status/state HTTP/1.1\r\n"
    assert code(line + host + "Content-Length: 70000\r\n\r\n") == 413
    assert code(line + host + "Content-Length: -1\r\n\r\n") == 400
    assert code(line + host + "Content-Length: 99999999999999999999999\r\n\r\n") == 400
    assert code(line + host + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n") == 400
    assert code(line + host + "Transfer-Encoding: chunked\r\n\r\n") == 411
    assert code(line + "Host: attacker.example\r\n\r\n") == 403
    assert code(line + "\r\n") == 403
    assert code("nonsense\r\n\r\n") == 400
    assert code(b"GET /\0 HTTP/1.1\r\n\r\n") == 400
    assert code("GET / HTTP/3\r\n" + host + "\r\n") == 505
    assert code("GET /" + "a" * 9000) == 431
    assert code("GET /" + "%n%s" * 500 + " HTTP/1.1\r\n" + host + "\r\n") == 404
    two = raw((line + host + "\r\n") * 2)
    data = b""
    while data.count(b"HTTP/1.1 200") < 2:
        data += two.recv(65536)
    slow = raw(line + host + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    assert b"100 Continue" in slow.recv(100)
    slow.sendall(b"{}")
    assert b"200 OK" in slow.recv(1000)
    start = time.monotonic()
    for c in many:
        assert c.ask("GET", "/detector/api/1.8.0/status/state")[0] == 200
    assert time.monotonic() - start < 5
    crowd = [Client() for _ in range(400)]  # more idle connections than there is room for
    assert Client().ask("GET", "/detector/api/1.8.0/status/state")[0] == 200
    for c in crowd:
        c.socket.close()
    for s in half + body:
        s.close()


def endless():
    """A head and a body that do not end, sent byte by byte, and a client that takes no answer: each loses its connection."""
    line = "PUT /detector/api/1.8.0/config/nimages HTTP/1.1\r\nHost: localhost\r\n"
    slow = [raw(line + "X: "), raw(line + "Content-Length: 60000\r\n\r\n{")]
    many = 10
    greedy = raw("GET /detector/api/1.8.0/config/pixel_mask HTTP/1.1\r\nHost: localhost\r\n\r\n" * many)
    start = time.monotonic()
    while slow and time.monotonic() - start < 30:
        assert Client().ask("GET", "/detector/api/1.8.0/status/state")[0] == 200
        for s in list(slow):
            s.settimeout(0.2)
            try:
                s.sendall(b"a")
                if s.recv(1000):
                    slow.remove(s)
            except TimeoutError:
                pass
            except OSError:
                slow.remove(s)
    assert not slow and 8 < time.monotonic() - start < 25, (slow, time.monotonic() - start)
    data = 0
    try:
        while more := greedy.recv(1 << 20):
            data += len(more)
    except ConnectionError:
        pass
    assert data < 2800000 * many, data


def receiver(port):
    import zmq

    s = zmq.Context.instance().socket(zmq.PULL)
    s.setsockopt(zmq.RCVTIMEO, 60000)
    s.connect(f"tcp://127.0.0.1:{port}")
    time.sleep(0.3)
    return s


def header(s, number, images):
    p = s.recv_multipart()
    assert json.loads(p[0]) == {"htype": "dheader-1.0", "series": number, "header_detail": "basic"}, p[0]
    settings = json.loads(p[1])
    assert len(p) == 2 and settings["nimages"] * settings["ntrigger"] == images, settings
    return settings


def image(s, number, frame):
    p = s.recv_multipart()
    d = json.loads(p[0])
    assert (d["htype"], d["series"], d["frame"]) == ("dimage-1.0", number, frame), d
    assert d["hash"] == hashlib.md5(p[2]).hexdigest()
    return p


def end(s, number):
    p = s.recv_multipart()
    assert len(p) == 1 and json.loads(p[0]) == {"htype": "dseries_end-1.0", "series": number}, p[0][:80]


def setup(**values):
    for k, v in values.items():
        put(k, v)


def sequence(text, number):
    assert text == '{"sequence id": %d}' % number, text


SETTINGS = dict(nimages=2, ntrigger=2, frame_time=0.3, count_time=0.2, compression="none", photon_energy=13000, detector_distance=0.12,
                beam_center_x=400, beam_center_y=200, omega_start=10, omega_increment=0.5)


def series():
    """Two triggers; the images are those of bragg-write in the folder."""
    folder = sys.argv[5]
    s = receiver(V1)
    setup(**SETTINGS)
    sequence(command("arm"), 1)
    assert state() == "ready"
    settings = header(s, 1, 4)
    for k in SETTINGS:
        assert settings[k] == SETTINGS[k], (k, settings[k])
    put("nimages", 50)  # counts for the next series
    for trigger in range(2):
        start = time.monotonic()
        sequence(command("trigger"), 1)
        assert 0.6 <= time.monotonic() - start < 5
        for k in range(2 * trigger, 2 * trigger + 2):
            p = image(s, 1, k)
            assert json.loads(p[1])["shape"] == [1028, 512] and json.loads(p[1])["type"] == "uint32"
            assert json.loads(p[3])["real_time"] == 200000000 and json.loads(p[3])["start_time"] == k * 300000000
            with open(f"{folder}/a_{k}.raw", "rb") as f:
                assert list(array.array("f", f.read())) == list(array.array("I", p[2])), k
    end(s, 1)
    assert state() == "idle" and value("dropped", "stream/status") == 0


def pulse(seconds=None, code=200, name="braggpipe/api/1/command/pulse"):
    r, text = Client().ask("PUT", f"/{name}", "" if seconds is None else json.dumps({"value": seconds}))
    assert r == code and "\n" not in text, (seconds, r, text)
    return text


TRIGGER = "detector/api/1.8.0/command/trigger"


def pixels_of(path):
    with open(path, "rb") as f:
        return list(array.array("f", f.read()))


def triggers():
    """The trigger modes: pulses that are simulated or sent, and exposures that triggers define."""
    folder = sys.argv[5]
    s = receiver(V1)
    setup(**SETTINGS)
    put("trigger_mode", "exts")
    assert value("pulses", "braggpipe/config") == "automatic"
    sequence(command("arm"), 1)
    assert header(s, 1, 4)["trigger_mode"] == "exts"
    assert "exts" in command("trigger", 400)
    for k in range(4):
        assert list(array.array("I", image(s, 1, k)[2])) == pixels_of(f"{folder}/a_{k}.raw"), k
    end(s, 1)
    assert C.ask("PUT", "/braggpipe/api/1/config/pulses", '{"value": "manual"}')[0] == 200
    assert C.ask("PUT", "/braggpipe/api/1/config/pulses", '{"value": "none"}')[0] == 400
    pulse(code=400)  # the state is idle
    sequence(command("arm"), 2)
    header(s, 2, 4)
    pulse(0.2, 404)
    time.sleep(0.5)
    assert state() == "ready"  # no pulse came by itself
    sequence(pulse(), 2)
    image(s, 2, 0), image(s, 2, 1)
    while state() != "ready":
        time.sleep(0.02)
    command("abort")
    end(s, 2)
    put("trigger_mode", "inte")
    sequence(command("arm"), 3)
    header(s, 3, 4)  # nimages counts as 1, but the header has what was set
    pulse(code=400)
    assert "out of range" in pulse(5000, 400, TRIGGER) and pulse("1", 400, TRIGGER)
    sums = []
    for k, exposure in enumerate((0.8, 0.1)):
        start = time.monotonic()
        sequence(pulse(exposure, name=TRIGGER), 3)
        assert exposure <= time.monotonic() - start < exposure + 5
        got = list(array.array("I", image(s, 3, k)[2]))
        assert got == pixels_of(f"{folder}/e_{k}.raw"), k
        sums.append(sum(got))
    assert 7 < sums[0] / sums[1] < 9, sums  # 8 times as long
    end(s, 3)
    assert value("late", "braggpipe/status") == 0
    put("trigger_mode", "exte")
    sequence(command("arm"), 4)
    header(s, 4, 4)
    for k, exposure in enumerate((0.8, 0.1)):
        while state() != "ready":
            time.sleep(0.02)
        sequence(pulse(exposure), 4)
        assert list(array.array("I", image(s, 4, k)[2])) == pixels_of(f"{folder}/e_{k}.raw"), k
    end(s, 4)
    assert state() == "idle"


FILES = "/filewriter/api/1.8.0/files"


def written(number, count):
    """Waits until the filewriter has written a series, and returns the names of its files."""
    end = time.monotonic() + 60
    while value("state", "filewriter/status") == "acquire" and time.monotonic() < end:
        time.sleep(0.05)
    assert value("state", "filewriter/status") == "ready"
    names = json.loads(C.ask("GET", FILES)[1])
    assert names == value("files", "filewriter/status")
    return names


def fetch(name):
    """Takes a file in small pieces."""
    s = raw(f"GET /data/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    data = b""
    while more := s.recv(50000):
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    assert b" 200 " in head[:20] and int(re.search(rb"Content-Length: (\d+)", head)[1]) == len(body) > 1000, head
    return body


def files():
    """The filewriter: names, files over HTTP, an aborted series, and bad names."""
    folder = sys.argv[5]
    assert json.loads(C.ask("GET", FILES)[1]) == [] and value("state", "filewriter/status") == "disabled"
    setup(**SETTINGS)
    for key, v, code in ("mode", "enabled", 200), ("nimages_per_file", 3, 200), ("nimages_per_file", 0, 400), ("name_pattern", "scan_$id", 200):
        put(key, v, "filewriter", code)
    for bad in "", "a/b", ".x", "a'b", "a b", "a$b", "$id$id", "x" * 200:
        assert "name_pattern" in put("name_pattern", bad, "filewriter", 400)
    put("compression_enabled", False, "filewriter")
    sequence(command("arm"), 1)
    assert value("state", "filewriter/status") == "acquire"
    put("name_pattern", "other_$id", "filewriter")  # counts for the next series
    command("trigger")
    time.sleep(1)
    assert json.loads(C.ask("GET", FILES)[1]) == [] and C.ask("GET", "/data/scan_1_master.h5")[0] == 404  # a master with few images
    command("trigger")
    names = written(1, 4)
    assert names == ["scan_1_data_000001.h5", "scan_1_data_000002.h5", "scan_1_master.h5"], names
    leaver = raw(f"GET /data/{names[0]} HTTP/1.1\r\nHost: localhost\r\n\r\n")
    leaver.recv(1000)
    for name in names:
        code_, body = C.ask("HEAD", f"/data/{name}")
        assert code_ == 200 and body == ""
        with open(f"{folder}/got_{name}", "wb") as f:
            f.write(fetch(name))
    leaver.close()
    for name in "scan_2_master.h5", "..", ".1", ".1/scan_1_master.h5", "../1.log", "%2e%2e/1.log", "scan_1_master.h5/", "", ".h5":
        assert C.ask("GET", f"/data/{name}")[0] == 404, name
    assert C.ask("PUT", f"/data/{names[0]}")[0] == 405
    assert C.ask("DELETE", f"/data/{names[0]}") == (204, "") and C.ask("GET", f"/data/{names[0]}")[0] == 404
    setup(nimages=200, ntrigger=1)
    sequence(command("arm"), 2)
    threading.Thread(target=command, args=("trigger",)).start()
    time.sleep(1)
    command("abort")
    names = written(2, 0)
    assert not [n for n in names if not n.startswith(("scan_1", "other_2"))], names
    sequence(command("arm"), 3)
    threading.Thread(target=command, args=("trigger",)).start()
    time.sleep(0.5)
    command("initialize")  # the old pipeline may still be ending
    put("mode", "enabled", "filewriter")
    put("frame_time", 0.1)
    sequence(command("arm"), 1)
    command("trigger")
    assert [n for n in written(1, 1) if n.startswith("series_1")] == ["series_1_data_000001.h5", "series_1_master.h5"]
    assert C.ask("PUT", "/filewriter/api/1.8.0/command/clear")[0] == 200 and json.loads(C.ask("GET", FILES)[1]) == []
    assert C.ask("PUT", "/filewriter/api/1.8.0/command/initialize")[0] == 200 and value("mode", "filewriter/config") == "disabled"
    sequence(command("arm"), 2)
    command("abort")
    assert json.loads(C.ask("GET", FILES)[1]) == []


def ends():
    """abort, cancel and disarm end a series, and no image of it comes in the next one."""
    s = receiver(V1)
    setup(nimages=30, ntrigger=1, frame_time=0.2, compression="bslz4")
    number = 0
    for name in "abort", "cancel", "disarm":
        number += 1
        sequence(command("arm"), number)
        header(s, number, 30)
        waits = threading.Thread(target=command, args=("trigger",))
        waits.start()
        image(s, number, 0)
        command("trigger", 400)
        start = time.monotonic()
        sequence(command(name), number)
        waits.join(5)
        assert not waits.is_alive() and time.monotonic() - start < 2, name
        k = 1
        while True:
            p = json.loads(s.recv_multipart()[0])
            if p["htype"] == "dseries_end-1.0":
                break
            assert (p["series"], p["frame"]) == (number, k), p
            k += 1
        assert state() == "idle", state()
    sequence(command("arm"), number + 1)
    header(s, number + 1, 30)
    sequence(command("arm"), number + 2)  # ends the series that is ready
    end(s, number + 1)
    header(s, number + 2, 30)
    command("initialize")
    end(s, number + 2)
    assert state() == "idle"
    sequence(command("disarm"), 0)


MASK, FLAT = "/detector/api/1.8.0/config/pixel_mask", "/detector/api/1.8.0/config/threshold/1/flatfield"


def darray(url):
    code, text = C.ask("GET", url)
    assert code == 200
    value = json.loads(text)["value"]
    kind = {"<u4": "I", "<f4": "f"}[value["type"]]
    assert value["__darray__"] == [1, 0, 0] and value["filters"] == ["base64"], value["filters"]
    return value["shape"], array.array(kind, base64.b64decode(value["data"]))


def put_mask(words, code=200, **other):
    value = {"__darray__": [1, 0, 0], "type": "<u4", "shape": [1028, 512], "filters": ["base64"], "data": base64.b64encode(words.tobytes()).decode()}
    r, text = C.ask("PUT", MASK, json.dumps({"value": {**value, **other}}))
    assert r == code and (code == 200 or text.startswith("pixel_mask: ") and "\n" not in text), (r, text)
    return text


def gaps():
    """The mask of a detector of two modules."""
    shape, words = darray(MASK)
    assert shape == [1028, 1062] and all(w == (512 <= i // 1028 < 550) for i, w in enumerate(words))
    assert value("number_of_excluded_pixels") == value("threshold/1/number_of_excluded_pixels") == 1028 * 38


def masks():
    """A mask that a client sets counts until it is deleted, and images show it."""
    shape, flat = darray(FLAT)
    assert shape == [1028, 512] and list(flat) == [1.0] * (1028 * 512)
    assert C.ask("PUT", FLAT, '{"value": 1}')[0] == 400 and C.ask("DELETE", FLAT) == (204, "")
    words = array.array("I", [0] * (1028 * 512))
    assert list(darray(MASK)[1]) == list(words)
    bad = {1028 * 100 + 7: 2, 1028 * 511 + 1027: 4, 5: 16}
    for at, word in bad.items():
        words[at] = word
    assert json.loads(put_mask(words)) == ["pixel_mask", "threshold/1/pixel_mask", "threshold/2/pixel_mask"]
    escaped = "\\u0041" + base64.b64encode(words.tobytes()).decode()[1:]
    body = '{"value":{"data" : "%s", "__darray__":[1,0,0],"type":"<u4","shape":[1028,512],"filters":["base64"]}}'
    assert C.ask("PUT", MASK, body % escaped)[0] == 200 and darray(MASK)[1] == words
    assert C.ask("PUT", MASK, (body % "").replace("data", "other").replace('"shape"', '"x":{"data":"AAAA"},"shape"'))[0] == 400
    put_mask(words[1:], 400)
    put_mask(words, 400, shape=[512, 1028])
    put_mask(words, 400, type="<f4")
    put_mask(words, 400, filters=["bslz4"])
    put_mask(words, 400, data=7)
    put_mask(words, 400, data=base64.b64encode(words.tobytes()).decode()[:-8] + "AA*=AAA=")
    put_mask(array.array("I", [1] * (1028 * 512)), 400)
    assert C.ask("PUT", MASK, '{"value": [0, 0]}')[0] == 400
    assert code("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n" % MASK) == 413
    slow = raw("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n{" % MASK)
    time.sleep(0.3)
    assert code("PUT %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3000000\r\n\r\n" % MASK) == 503  # one large body at a time
    assert Client().ask("PUT", MASK, " " * 100000)[0] == 503
    slow.close()
    time.sleep(0.3)
    assert C.ask("PUT", MASK, " " * 100000)[0] == 400
    assert Client().ask("PUT", MASK, " " * 6000000) == (413, "The body is too large.")  # it can send all, and sees the answer
    assert Client().ask("PUT", "/detector/api/1.8.0/config/nimages", " " * 6000000)[0] == 413
    command("initialize")
    assert darray(MASK)[1] == words and value("number_of_excluded_pixels") == 3
    s = receiver(V1)
    setup(nimages=1, frame_time=0.3, compression="none")
    put("header_detail", "all", "stream")
    for number, blank in (1, 2**32 - 1), (2, 0), (3, None):
        put("mask_to_zero", blank == 0)
        put("pixel_mask_applied", blank is not None)
        sequence(command("arm"), number)
        if blank is None:  # the words are not used
            settings = json.loads(s.recv_multipart()[1])
            assert settings["pixel_mask_applied"] is False and settings["number_of_excluded_pixels"] == 3
            command("trigger")
            assert max(array.array("I", image(s, number, 0)[2])) < 2**32 - 1
            end(s, number)
            continue
        p = s.recv_multipart()
        assert json.loads(p[1])["number_of_excluded_pixels"] == 3
        assert json.loads(p[4])["htype"] == "dpixelmask-1.0" and p[5] == words.tobytes()
        assert json.loads(p[6]) == {"htype": "dcountrate_table-1.0", "shape": [2, 1152], "type": "float32"} and len(p[7]) == 8 * 1152
        rates = array.array("f", p[7])
        assert all(abs(rates[i + 1] - rates[i] * math.exp(-70e-9 * rates[i])) <= 1 for i in range(0, 2304, 2)) and abs(rates[-2] - 1.151e7) < 2
        command("trigger")
        p = image(s, number, 0)
        pixels = array.array("I", p[2])
        assert [pixels[at] for at in bad] == [blank] * 3 and sum(v == 2**32 - 1 for v in pixels) == (3 if blank else 0)
        end(s, number)
    assert C.ask("DELETE", MASK) == (204, "") and value("number_of_excluded_pixels") == 0
    assert not any(darray(MASK)[1])


def roi():
    """The middle of a large detector has the images of a 4M, a mask of its own, and the beam at the same place."""
    s = receiver(V1)
    sizes = [value(f"{a}_pixels_in_detector") for a in "xy"]
    whole = sizes == [3108, 3262]
    put("beam_center_x", 1480 if whole else 960)
    if whole:
        put_mask(array.array("I", [4]) + array.array("I", bytes(4 * (3108 * 3262 - 1))), shape=sizes)
        assert value("number_of_excluded_pixels") == 3108 * 3262 - 18 * 1028 * 512 + 1
        assert get("detector/config", "roi_mode")["allowed_values"] == ["disabled", "4M"] and round(1 / get("detector/config", "frame_time")["min"], 6) == 230
        put("frame_time", 1)
        assert put("roi_mode", "4M") == ["beam_center_x", "beam_center_y", "count_time", "frame_time", "roi_mode", "x_pixels_in_detector", "y_pixels_in_detector"]
        assert round(1 / get("detector/config", "frame_time")["min"], 6) == 500 and value("frame_time") == 0.1
    assert [value(f"{a}_pixels_in_detector") for a in "xy"] == [2068, 2162] == darray(MASK)[0]
    assert (value("beam_center_x"), value("beam_center_y"), value("number_of_excluded_pixels")) == (960, 1081, 2068 * 2162 - 8 * 1028 * 512)
    setup(frame_time=1, compression="none")
    command("arm")
    assert header(s, 1, 1)["roi_mode"] == ("4M" if whole else "")
    command("trigger")
    p = image(s, 1, 0)
    assert json.loads(p[1])["shape"] == [2068, 2162]
    end(s, 1)
    if whole:
        put("roi_mode", "disabled")
        assert value("beam_center_x") == 1480 and value("number_of_excluded_pixels") == 3108 * 3262 - 18 * 1028 * 512 + 1
    print(hashlib.md5(p[2]).hexdigest())


IMAGES = "/monitor/api/1.8.0/images"


def tiff(path, code=200, client=None):
    """The number of series and image, the threshold, the type and the pixels of an image of the monitor."""
    r, t = (client or C).ask("GET", IMAGES + path)
    assert r == code, (path, r, t)
    if code != 200:
        return t
    assert t[:4] == b"II*\0" and struct.unpack_from("<H", t, 8) == (12,)
    assert re.fullmatch(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00\0", t[162:192]), t[162:192]
    assert t[194:220].decode() == value("series_unique_id", "detector/status") and not any(t[220:224] + t[154:162] + t[192:194])
    at = struct.unpack_from("<I", t, 4)[0]
    n = struct.unpack_from("<H", t, at)[0]
    d = {}
    for i in range(n):
        tag, kind, count, v = struct.unpack_from("<HHII", t, at + 2 + 12 * i)
        assert count == 1 and kind in (3, 4)
        d[tag] = v
    assert list(d) == sorted(d) and len(t) == at + 2 + 12 * n + 4 and not any(t[-4:])
    assert (d[256], d[257], d[259], d[262], d[273], d[277], d[278], d[339], d[51192]) == (1028, 512, 1, 1, 272, 1, 512, 1, 8), d
    assert d[279] == 1028 * 512 * d[258] // 8 == at - 272
    reals = struct.unpack_from("<6d", t, 224)
    for real, key in zip(reals[1:], ("count_time", "photon_energy", "wavelength", "beam_center_x", "beam_center_y")):
        assert abs(real - value(key)) <= 1e-12 * real, (key, real)
    threshold = struct.unpack_from("<H", t, 78)[0]
    assert reals[0] == value(f"threshold/{threshold}/energy")
    kind = {16: "H", 32: "I"}[d[258]]
    return struct.unpack_from("<I", t, 42)[0], struct.unpack_from("<I", t, 54)[0], threshold, array.array(kind, t[272:at])


def status(key):
    return value(key, "monitor/status")


def take(images, **values):
    """Runs a series and waits for its end."""
    setup(nimages=images, **values)
    command("arm")
    command("trigger")
    while state() != "idle":
        time.sleep(0.05)


def monitor():
    """The monitor has the pixels of the stream in all codings, and a buffer that drops new or old images."""
    assert C.ask("GET", IMAGES) == (200, "[]") and "images" in json.loads(C.ask("GET", "/monitor/api/1.8.0/")[1])
    start = time.monotonic()
    for path, least, most in ("/next", 0.5, 2), ("/monitor?timeout=100", 0.1, 1):
        start = time.monotonic()
        tiff(path, 408)
        assert least <= time.monotonic() - start < most, path
    for path in "/1/0", "/1", "/first", "/1/x", "/1/0/", "/-1/0", "/1/0/0", "/99999999999999999999999/0":
        tiff(path, 404)
    assert C.ask("HEAD", IMAGES + "/next")[0] == 405
    take(1, frame_time=0.02)
    assert C.ask("GET", IMAGES) == (200, "[]")  # the mode is disabled
    put("mode", "enabled", "monitor")
    s = receiver(V1)
    number, plain = 1, {}
    for frame_time, kind in (0.004, "H"), (0.02, "I"):
        for coding in "none", "lz4", "bslz4":
            number += 1
            take(2, frame_time=frame_time, compression=coding)
            s.recv_multipart()
            for k in range(2):
                p = image(s, number, k)
                found = tiff(f"/{number}/{k}")
                assert found[:3] == (number, k, 1) and tiff(f"/{number}/{k}/1") == found
                if coding == "none":
                    plain[kind, k] = array.array(kind, p[2])
                assert found[3] == plain[kind, k], (coding, kind, k)
            end(s, number)
    assert json.loads(C.ask("GET", IMAGES)[1]) == [[n, [0, 1]] for n in range(2, number + 1)]
    assert status("buffer_fill_level") == [12, 100] and status("dropped") == 0 and status("state") == "normal"
    free = status("buffer_free")
    assert 0 < free < 4194304
    command("trigger", 400)
    assert C.ask("PUT", "/monitor/api/1.8.0/command/clear")[0] == 200
    assert status("buffer_free") == 4194304 and status("buffer_fill_level")[0] == 0
    assert tiff("/monitor")[:2] == (number, 1)

    put("buffer_size", 2, "monitor")
    take(4)
    number += 1
    assert status("dropped") == 2 and status("state") == "overflow" and status("buffer_fill_level") == [2, 2]
    assert json.loads(C.ask("GET", IMAGES)[1]) == [[number, [0, 1]]] and tiff("/monitor")[1] == 3 and tiff(f"/{number}/3")[1] == 3
    put("discard_new", False, "monitor")
    take(3)
    number += 1
    assert json.loads(C.ask("GET", IMAGES)[1]) == [[number, [1, 2]]] and status("dropped") == 5
    assert [tiff("/next")[:2] for _ in range(2)] == [(number, 1), (number, 2)]
    tiff("/next?timeout=1", 408)
    assert C.ask("PUT", "/monitor/api/1.8.0/command/initialize")[0] == 200
    assert value("mode", "monitor/config") == "disabled" and value("buffer_size", "monitor/config") == 100 and status("dropped") == 0
    tiff("/monitor?timeout=1", 408)

    # clients that wait get images one after another, each once
    put("mode", "enabled", "monitor")
    setup(nimages=3, frame_time=0.2)
    seen, clients = [], [Client() for _ in range(3)]
    waits = [threading.Thread(target=lambda c=c: seen.append(c.ask("GET", IMAGES + "/next?timeout=30000"))) for c in clients]
    for w in waits:
        w.start()
    command("arm")
    command("trigger")
    for w in waits:
        w.join(30)
    assert sorted(struct.unpack_from("<I", t, 54)[0] for code, t in seen) == [0, 1, 2], len(seen)


def monitor_cbor():
    """Images of both thresholds from Stream V2, and from V1 those of the first one."""
    put("mode", "enabled", "monitor")
    put("mode", "disabled", "stream")
    put("threshold/2/mode", "enabled")
    number = 0
    for coding in "none", "lz4", "bslz4":
        number += 1
        put("format", "cbor", "stream")
        take(1, compression=coding, frame_time=0.02)
        one, two, first = tiff(f"/{number}/0/1"), tiff(f"/{number}/0/2"), tiff(f"/{number}/0")
        assert one[2] == 1 and two[2] == 2 and first == one
        assert sum(one[3]) > 1000 and not any(two[3])  # the second threshold is above the energy
        plain = one[3] if coding == "none" else plain
        assert one[3] == plain, coding
        tiff(f"/{number}/0/3", 404)
    put("format", "legacy", "stream")
    take(1)
    number += 1
    assert tiff(f"/{number}/0")[3] == plain
    assert "Stream V1" in tiff(f"/{number}/0/2", 404)
    put("threshold/1/mode", "disabled")
    take(1)
    number += 1
    assert tiff(f"/{number}/0")[2] == 2 == tiff(f"/{number}/0/2")[2]


def decode(m):
    """Decodes CBOR as Stream V2 has it.  Tags are dropped."""
    at = 0

    def item():
        nonlocal at
        major, n = m[at] >> 5, m[at] & 31
        at += 1
        if major == 7 and n < 24:
            return n == 21
        if n > 23:
            size = 1 << (n - 24)
            at += size
            if major == 7:
                return struct.unpack({2: ">e", 4: ">f", 8: ">d"}[size], m[at - size : at])[0]
            n = int.from_bytes(m[at - size : at], "big")
        if major in (2, 3):
            at += n
            return m[at - n : at].decode() if major == 3 else m[at - n : at]
        if major == 4:
            return [item() for _ in range(n)]
        if major == 5:
            return dict((item(), item()) for _ in range(n))
        return item() if major == 6 else n

    return item()


# Values of the start message, and the keys that they have.
HEADER = {
    "arm_date": "data_collection_date", "beam_center_x": "beam_center_x", "beam_center_y": "beam_center_y", "count_time": "count_time",
    "countrate_correction_enabled": "countrate_correction_applied", "detector_description": "description",
    "detector_serial_number": "detector_number", "detector_translation": "detector_translation",
    "flatfield_enabled": "flatfield_correction_applied", "frame_time": "frame_time", "image_size_x": "x_pixels_in_detector",
    "image_size_y": "y_pixels_in_detector", "incident_energy": "photon_energy", "incident_wavelength": "wavelength",
    "pixel_mask_enabled": "pixel_mask_applied", "pixel_size_x": "x_pixel_size", "saturation_value": "countrate_correction_count_cutoff",
    "sensor_material": "sensor_material", "sensor_thickness": "sensor_thickness",
    "virtual_pixel_interpolation_enabled": "virtual_pixel_correction_applied",
}


def crowd(clients, waits):
    """Asks for the state over many connections at once, while a thread runs.  Returns the longest time until an answer."""
    request = f"GET /detector/api/1.8.0/status/state HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()
    longest = 0
    while waits.is_alive():
        start = time.monotonic()
        for c in clients:
            c.socket.sendall(request)
        for c in clients:
            assert c.answer()[0] == 200
        longest = max(longest, time.monotonic() - start)
        time.sleep(0.02)
    assert longest > 0
    return longest


def cbor():
    """Stream V2 with two channels, whose header has the keys; and no answer waits for arm or trigger."""
    s = receiver(V2)
    put("format", "cbor", "stream")
    put("header_appendix", {"run": [7]}, "stream")
    put("header_detail", "all", "stream")
    put("image_appendix", "a text", "stream")
    setup(nimages=2, frame_time=0.3, count_time=0.2, chi_start=2, phi_start=-3.5, photon_energy=13579.3, detector_distance=0.12345, beam_center_x=401.3,
          beam_center_y=222.7, omega_start=33.3, omega_increment=0.15, two_theta_start=3.3, flatfield_correction_applied=False)
    put("threshold/2/mode", "enabled")
    answers = []
    waits = threading.Thread(target=lambda: answers.append(command("arm")))
    waits.start()
    clients = [Client() for _ in range(100)]
    assert crowd(clients, waits) < 1 and answers == ['{"sequence id": 1}'], answers
    start = s.recv()
    assert b"dtype\x65start" in start[:32] and b"threshold_2" in start
    head = decode(start)
    for name, key in HEADER.items():
        assert head[name] == value(key), (name, head[name], value(key))
    for axis, angles in head["goniometer"].items():
        assert angles == {k: value(f"{axis}_{k}") for k in ("increment", "start")}, (axis, angles)
    assert head["threshold_energy"] == {f"threshold_{i}": value(f"threshold/{i}/energy") for i in (1, 2)}
    assert (head["number_of_images"], head["image_dtype"]) == (2, "uint32")
    assert head["user_data"] == {"run": [7]}
    put("header_detail", "basic", "stream")
    counts = array.array("I", head["countrate_correction_lookup_table"])
    assert list(counts[:16]) == list(range(16)) and counts[60000] == value("countrate_correction_table")[60000] > 60000
    assert len(counts) == 65536 and len(head["pixel_mask"]) == len(head["flatfield"]) == 2
    time.sleep(1)
    before = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    unique = value("series_unique_id", "detector/status")
    assert len(unique) == 26 and unique.encode() in start
    waits = threading.Thread(target=command, args=("trigger",))
    waits.start()
    assert crowd(clients, waits) < 1
    for k in range(2):
        m = s.recv()
        assert b"dtype\x65image" in m[:32] and b"himage_id" + bytes([k]) in m and unique.encode() in m
        assert decode(m)["user_data"] == "a text"
        assert decode(m)["series_date"] >= before > head["arm_date"], (decode(m)["series_date"], before, head["arm_date"])
    m = s.recv()
    assert m.startswith(b"\xd9\xd9\xf7\xa3\x64type\x63end") and m.endswith(unique.encode())
    put("threshold/1/mode", "disabled")
    command("arm")
    head = decode(s.recv())
    assert head["channels"] == ["threshold_2"] and head["threshold_energy"] == {"threshold_2": value("threshold/2/energy")}, head
    command("trigger")
    assert list(decode(s.recv())["data"]) == ["threshold_2"]


def nobody():
    """Without a client the images are dropped and counted."""
    setup(nimages=3, frame_time=0.1)
    command("arm")
    start = time.monotonic()
    command("trigger")
    assert time.monotonic() - start < 5
    until = time.monotonic() + 20
    while state() != "idle" and time.monotonic() < until:
        time.sleep(0.05)
    assert state() == "idle" and value("dropped", "stream/status") == 4  # and the header
    put("mode", "disabled", "stream")
    command("arm")
    command("trigger")


def viewed():
    """A stage of the pipeline shows the images of each series in a browser, at one address."""
    page = f"http://127.0.0.1:{sys.argv[5]}/"
    browser = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    scope = {}
    with open(os.path.join(os.path.dirname(__file__), "view_client.py")) as f:
        exec(f.read().split("\ndef refused")[0], scope)  # its class Socket
    s = receiver(V1)
    setup(nimages=3, frame_time=0.1, compression="none")
    for series in 1, 2:
        put("omega_start", 10 * series)
        command("arm")
        header(s, series, 3)
        assert b"<html" in browser.open(page, timeout=10).read(), series
        seen, until = {}, time.monotonic() + 20
        while not seen and time.monotonic() < until:  # some of the images that are computed ahead, in any order
            try:
                view = scope["Socket"](page)
                for head, data in [view.answer(f"tile {place} 0 0 4000 4000 1 max") for place in range(3)]:
                    if head[0] != 4:
                        seen[head[3]] = array.array("fHIi"[head[1]], data)
            except OSError:  # the page of the series before has ended
                seen = {}
            time.sleep(0.05)
        assert seen, series
        command("trigger")
        for k in range(3):
            got = array.array("I", image(s, series, k)[2])
            pairs = [(a, b) for a, b in zip(got, seen.pop(k, got)) if a < 2**31]
            assert len(pairs) == 200 * 100 and any(a for a, b in pairs) and all(a == b for a, b in pairs), (series, k)
        assert not seen, sorted(seen)
        end(s, series)


def full():
    """A trigger whose exposure cannot be stored is refused, and the next series is not."""
    limit = lambda bytes: subprocess.run(["prlimit", "--pid", sys.argv[5], f"--fsize={bytes}:"], check=True)
    setup(nimages=1, frame_time=0.1)
    put("trigger_mode", "inte")
    command("arm")
    limit(0)
    text = command("trigger", 500)
    assert text == "trigger: cannot write the file that the pipeline waits for. Make room in the folder of TMPDIR", text
    assert state() == "error" and value("error", "detector/status") == [text]
    limit("unlimited")
    command("disarm")
    command("arm")
    command("trigger")
    until = time.monotonic() + 20
    while state() != "idle" and time.monotonic() < until:
        time.sleep(0.05)
    assert state() == "idle"


def late():
    """Images of a slow pipeline come late and in their order; the trigger is answered in time."""
    s = receiver(V1)
    setup(nimages=30, frame_time=0.002)
    command("arm")
    header(s, 1, 30)
    start = time.monotonic()
    command("trigger")
    waited, during = time.monotonic() - start, state()
    for k in range(30):
        image(s, 1, k)
    took = time.monotonic() - start
    end(s, 1)
    assert waited < took and during == "acquire", (waited, took, during)
    status = {k: value(k, "braggpipe/status") for k in ("late", "longest_delay", "frames_per_second")}
    assert 1 <= status["late"] <= 30 and 0.05 < status["longest_delay"] < took, status
    assert 0.5 < status["frames_per_second"] * took / 30 < 2, (status, took)
    print(status["late"])
    setup(nimages=1, frame_time=3)
    command("arm")
    assert value("late", "braggpipe/status") == 0
    command("trigger")
    assert value("late", "braggpipe/status") == 0


def faults():
    """A pipeline that loses, repeats, exchanges and damages images: two triggers each, and the series ends."""
    for number, stream in enumerate(("legacy", "cbor"), 1):
        s = receiver(V1 if stream == "legacy" else V2)
        put("format", stream, sub="stream")
        setup(nimages=20, ntrigger=2, frame_time=0.02)
        command("arm")
        s.recv_multipart()
        command("trigger")
        waits = time.monotonic() + 45
        while state() == "acquire" and time.monotonic() < waits:
            time.sleep(0.02)
        assert state() == "ready", state()
        command("trigger")
        images = []
        while b"end" not in (parts := s.recv_multipart())[0][:32]:
            found = re.search(rb'"frame":(\d+)|image_id(.)(.?)', parts[0][:400], re.S)
            plain = found and found[2] and found[2] < b"\x18"
            images.append(-1 if not found else int(found[1]) if found[1] else ord(found[2] if plain else found[3]))
        assert state() == "idle", state()
        assert value("dropped", "stream/status") == 0
        print(*images)


def lost():
    """A pipeline that loses images and holds them back, where each trigger defines the exposure: the state tells."""
    for number, stream in enumerate(("legacy", "cbor"), 1):
        s = receiver(V1 if stream == "legacy" else V2)
        put("format", stream, sub="stream")
        setup(nimages=1, ntrigger=16, frame_time=0.02, trigger_mode="inte")
        command("arm")
        s.recv_multipart()
        assert value("lost", "braggpipe/status") == 0
        C.ask("PUT", "/braggpipe/api/1/config/truth", '{"value": "enabled"}')  # applies to the second series
        for k in range(16):
            sequence(pulse(0.02, name=TRIGGER), number)
            until = time.monotonic() + 20
            while state() == "acquire" and time.monotonic() < until:
                time.sleep(0.01)
            assert state() == ("ready" if k < 15 else "idle"), (k, state())
        images = 0
        while b"end" not in s.recv_multipart()[0][:32]:
            images += 1
        print(images, value("lost", "braggpipe/status"))
    fates = [line["fate"] for line in truth(2)]
    assert len(fates) == 16 and 1 <= fates.count("withheld") <= value("lost", "braggpipe/status") and fates.count("taken") >= 8, fates


def held():
    """An image that its pipeline holds back until the series is over: the pipeline ends all the same."""
    setup(nimages=1, ntrigger=1, frame_time=0.02, trigger_mode="inte")
    C.ask("PUT", "/braggpipe/api/1/config/truth", '{"value": "enabled"}')
    command("arm")
    sequence(pulse(0.02, name=TRIGGER), 1)
    assert [line["fate"] for line in truth(1)] == ["taken"]


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def is_ours(pid, program):
    """Whether a process runs a program for this test."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as command_line, open(f"/proc/{pid}/environ", "rb") as environment:
            return command_line.read().split(b"\0")[0].endswith(program.encode()) and os.environ["TMPDIR"].encode() in environment.read()
    except OSError:  # the process has ended
        return False


def killed():
    """Stages that die between triggers: bragg-run starts one again; without the last one the state is error.  The next arm works."""
    s = receiver(V1)
    setup(trigger_mode="inte", ntrigger=2)
    for number, program in enumerate(("bragg-noise", "bragg-serve"), 1):
        command("arm")
        s.recv_multipart()
        until = time.monotonic() + 20
        ours = []
        while len(ours) != 1 and time.monotonic() < until:  # that of the series before may still be ending
            ours = [pid for pid in pids() if is_ours(pid, program)]
        os.kill(ours[0], signal.SIGKILL)
        C.ask("PUT", f"/{TRIGGER}")
        if program == "bragg-noise":
            image(s, number, 0)
            command("trigger")
            image(s, number, 1)
            end(s, number)
    until = time.monotonic() + 30
    while state() != "error" and time.monotonic() < until:
        time.sleep(0.05)
    assert state() == "error", state()
    text, = value("error", "detector/status")
    while b"end" not in s.recv_multipart()[0]:
        pass
    command("disarm")
    command("arm")
    s.recv_multipart()
    command("trigger")
    image(s, 3, 0)
    command("abort")
    print(text)


def sample():
    """Motors of the sample holder, between two series: the crystal is in the beam at one of two places."""
    s = receiver(V1)
    setup(nimages=1, frame_time=0.3, compression="none")
    for number, x in (1, 0), (2, 200):
        for key, um in ("sample_x", x), ("sample_y", -30):
            r, text = C.ask("PUT", f"/braggpipe/api/1/config/{key}", json.dumps({"value": um}))
            assert (r, json.loads(text)) == (200, [key]), (r, text)
        sequence(command("arm"), number)
        s.recv_multipart()
        command("trigger")
        pixels = image(s, number, 0)[2]
        end(s, number)
        print(any(v and v < 2**32 - 1 for v in array.array("I", pixels)))


def move(**places):
    for key, v in places.items():
        r, text = C.ask("PUT", f"/braggpipe/api/1/config/{key}", json.dumps({"value": v}))
        assert (r, json.loads(text)) == (200, [key]), (r, text)


def same(s, number, k, name):
    """The image is that of a file.  Returns whether it has photons."""
    got = list(array.array("I", image(s, number, k)[2]))
    assert got == pixels_of(f"{sys.argv[5]}/{name}_{k}.raw"), k
    return any(got)


def truth(number):
    """The lines of the table of the ground truth, when the series has ended."""
    until = time.monotonic() + 30
    while not (path := value("truth", "braggpipe/status")) and time.monotonic() < until:
        time.sleep(0.05)
    assert path == f"/data/series_{number}_truth.tsv", path
    code_, text = C.ask("GET", path)
    assert code_ == 200 and json.loads(C.ask("GET", FILES)[1]) == []
    names, *lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(names, line)) for line in lines]


def raster():
    """Motors that move between triggers: a raster scan finds the crystals where the ground truth has them."""
    s = receiver(V1)
    setup(nimages=1, ntrigger=15, frame_time=0.1, compression="none")
    move(motors="trigger", sample_x=5000, truth="enabled")
    sequence(command("arm"), 1)
    header(s, 1, 15)
    for y in -100, 0, 100:
        for x in range(-200, 201, 100):
            move(sample_x=x, sample_y=y)
            command("trigger")
            while state() == "acquire" and x % 200:  # other triggers come before the image has left
                time.sleep(0.01)
    hits = [int(same(s, 1, k, "m")) for k in range(15)]
    end(s, 1)
    lines = truth(1)
    assert [int(line["lattices"]) for line in lines] == hits and [line["frame"] for line in lines] == [str(k) for k in range(15)]
    assert [(float(lines[k]["sample_x_um"]), float(lines[k]["sample_y_um"])) for k in (4, 11)] == [(200, -100), (-100, 100)], lines[4]
    print(*hits)
    setup(nimages=2, ntrigger=2, omega_start=5, omega_increment=0.5)
    move(sample_x=-100, sample_y=100)
    for number, mode in (2, "ints"), (3, "exts"):
        put("trigger_mode", mode)
        move(pulses="manual", omega=5, sample_z=2000)
        command("arm")
        header(s, number, 4)
        command("trigger") if mode == "ints" else pulse()
        while state() != "ready":
            time.sleep(0.01)
        move(sample_z=150000)
        assert "sample_z moves the sample to the detector" in (command("trigger", 400) if mode == "ints" else pulse(code=400))
        move(omega=15, sample_z=1000)
        command("trigger") if mode == "ints" else pulse()
        for k in range(4):
            same(s, number, k, "r")
        end(s, number)
    move(motors="arm", omega=5, sample_z=2000)
    setup(ntrigger=1, trigger_mode="ints")
    command("arm")
    header(s, 4, 2)
    command("trigger")
    for k in range(2):
        same(s, 4, k, "r")
    end(s, 4)
    assert len(truth(4)) == 2
    command("initialize")
    assert value("truth", "braggpipe/status") == ""
    command("arm")  # series 1 again
    assert value("truth", "braggpipe/status") == "" and C.ask("GET", "/data/series_1_truth.tsv")[0] == 404
    command("abort")
    assert C.ask("DELETE", "/data/series_4_truth.tsv")[0] == 204 and C.ask("GET", "/data/series_4_truth.tsv")[0] == 404
    move(motors="trigger")
    setup(nimages=10**6 + 1)
    assert "expected at most 1e+06 if triggers define where motors are" in command("arm", 400)


def edge():
    """A scan of the energy over an absorption edge."""
    s = receiver(V1)
    setup(nimages=1, frame_time=0.1, compression="none")
    for number, energy in enumerate((12640, 12665), 1):
        put("photon_energy", energy)
        command("arm")
        s.recv_multipart()
        command("trigger")
        got = list(array.array("I", image(s, number, 0)[2]))
        end(s, number)
        assert got == pixels_of(f"{sys.argv[5]}/{energy}.raw"), energy
        assert sum(got) > 1000


ANGLES = dict(omega=20, kappa=40, chi=-25, phi=70)


def axes():
    """The crystal turns with omega, kappa, chi and phi, and one of them rotates."""
    s = receiver(V1)
    setup(nimages=1, frame_time=0.1, count_time=0.0999999, compression="none", chi_axis=[0, 1, 0], **{f"{axis}_start": v for axis, v in ANGLES.items()})
    for number, (name, step) in enumerate((("still", {}), ("phi", dict(phi_increment=2)), ("kappa", dict(phi_increment=0, kappa_increment=-1))), 1):
        setup(**step)
        command("arm")
        settings = header(s, number, 1)
        assert all(settings[f"{axis}_start"] == v for axis, v in ANGLES.items())
        command("trigger")
        got, expected = array.array("I", image(s, number, 0)[2]), pixels_of(f"{sys.argv[5]}/{name}.raw")
        end(s, number)
        pairs = [(a, b) for a, b in zip(got, expected) if a < 2**31]  # the region that is computed
        assert len(pairs) == 200 * 100 and sum(a for a, b in pairs) > 1000
        assert sum(abs(a - b) for a, b in pairs) < 0.01 * sum(a for a, b in pairs), name
    move(motors="trigger")
    command("arm")
    header(s, 4, 1)
    move(omega=1)
    text = "trigger: omega has moved since arm, but kappa rotates in this series (got 1 deg); expected 0 deg. Send the command arm again"
    assert command("trigger", 400) == text
    move(omega=0)
    command("trigger")
    assert got == array.array("I", image(s, 4, 0)[2])
    end(s, 4)
    move(pulses="automatic")
    put("trigger_mode", "exts")
    put("trigger_start_delay", 0)
    move(pulse_period=1)
    command("arm")
    move(omega=1)
    until = time.monotonic() + 20
    while state() != "error" and time.monotonic() < until:
        time.sleep(0.05)
    assert value("error", "detector/status") == [text.replace("trigger:", "pulse:")]


def rows():
    """A mesh scan of the pipeline file, with a trigger for each row."""
    s = receiver(V1)
    setup(nimages=5, ntrigger=3, frame_time=0.1, compression="none")
    command("arm")
    header(s, 1, 15)
    for row in range(3):
        command("trigger")
        while state() == "acquire":
            time.sleep(0.01)
    print(*(int(same(s, 1, k, "m")) for k in range(15)))
    with open("lineage", "w") as f:
        print(value("lineage", "braggpipe/status"), file=f)


def fails():
    """A pipeline that fails: state error with its reason; the next arm works."""
    text = command("arm", 500)
    assert "\n" not in text and text, text
    assert state() == "error" and value("error", "detector/status") == [text]
    command("arm", 400)
    command("disarm")
    assert state() == "idle"
    print(text)


globals()[NAME]()
