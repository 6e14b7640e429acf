"""frames.py NAME...: runs these tests of the module braggpipe, in a folder with the recording x.rec."""
import contextlib
import copy
import importlib.util
import multiprocessing
import os
import pickle
import re
import shlex
import signal
import subprocess
import sys
import threading
import time

import numpy
import zmq

import braggpipe
from braggpipe import _frame

SMALL = "bragg-geometry --quiet --detpixels=64 | bragg-orient --quiet --frames={} --random {} | bragg-intensity --quiet --threads=1"
LARGE = "bragg-geometry --quiet --detpixels=300 | bragg-orient --quiet --frames={} --random | bragg-intensity --quiet --threads=1"


def is_alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def has_ended(pids):
    for _ in range(100):
        if not any(map(is_alive, pids)):
            return True
        time.sleep(0.1)
    return False


def offspring():
    """Returns the processes of pipelines that this process has started."""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if b"PYTHON_FRAMES_TEST=%d\0" % os.getpid() in open(f"/proc/{pid}/environ", "rb").read() and int(pid) != os.getpid():
                pids.append(int(pid))
    return pids


def same():
    recorded = {frame.number: frame for frame in braggpipe.open("x.rec")}
    frames = braggpipe.open(SMALL.format(3, "--mosaic=0.1 --wavelength-jitter=1"))
    assert frames.experiment.shape == (64, 64)
    count, wavelengths = 0, set()
    for frame in frames:
        other = recorded[frame.number]
        assert frame.image.dtype == numpy.float32 and frame.image.max() > 0 and not frame.image.flags.writeable
        assert numpy.array_equal(frame.image, other.image)
        one, two = frame.truth.lattices[0], other.truth.lattices[0]
        assert numpy.array_equal(one.rotation, two.rotation) and numpy.allclose(one.rotation @ one.rotation.T, numpy.eye(3))
        real = numpy.linalg.inv(one.reciprocal_A).T
        assert numpy.allclose(numpy.linalg.norm(real, axis=1), one.cell[:3]) and numpy.allclose(one.cell[3:], 90)
        wavelengths.add(frame.truth.wavelength_A)
        count += 1
    assert count == 3 and len(wavelengths) == 3 and all(0.9 < w < 1.1 for w in wavelengths), wavelengths


def is_same(one, two):
    """Returns True.  Fails unless two frames are equal and the second has its own memory."""
    def arrays(frame):
        found = {"pixels": frame.pixels, "reflections": frame.reflections, "labels": frame.labels, **(frame.derivatives or {})}
        found.update(zip(("F pixels", "F values"), frame.F_derivatives or ()))
        return {name: array for name, array in found.items() if array is not None}

    def numbers(value):
        return value.tolist() if isinstance(value, numpy.ndarray) else value

    mine, others = arrays(one), arrays(two)
    assert mine.keys() == others.keys() and all(numpy.array_equal(mine[name], others[name]) for name in mine), (mine, others)
    assert not any(numpy.shares_memory(mine[name], others[name]) for name in mine) and not two.image.flags.writeable
    for name in ("seed", "wavelength_A", "fluence", "phi_deg", "osc_deg", "cell"):
        assert getattr(one.truth, name) == getattr(two.truth, name), name
    for a, b in zip(one.truth.lattices, two.truth.lattices, strict=True):
        assert {name: numbers(value) for name, value in vars(a).items()} == {name: numbers(value) for name, value in vars(b).items()}
    assert (one.number, one.unit, one.experiment.lineage, one.experiment.shape) == (two.number, two.unit, two.experiment.lineage, two.experiment.shape)
    assert numbers(one.experiment.panels[0].fast) == numbers(two.experiment.panels[0].fast) and repr(one) == repr(two)
    return True


def pickled():
    script = SMALL.format(3, "--mosaic=0.1") + " --reflections --labels --derivatives=rot,F"
    sources = [braggpipe.open(script), braggpipe.open(SMALL.format(60, "--seed=2")), braggpipe.open("x.rec")]
    for source in sources:
        for frame in source:
            for other in (pickle.loads(pickle.dumps(frame)), copy.copy(frame), copy.deepcopy(frame), pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(frame))))):
                assert is_same(frame, other)
            for other in (pickle.loads(pickle.dumps(frame)), frame.detach()):
                assert frame.reflections is None or other.reflections.tobytes() == frame.reflections.tobytes()
            if frame.reflections is not None:  # NumPy would leave unused bytes of a row undefined
                row = frame.reflections.dtype
                assert sum(row[name].itemsize for name in row.names) == row.itemsize, row
                assert frame.reflections.copy().tobytes() == frame.reflections.tobytes() and not frame.reflections.flags.writeable
            buffers = []
            pickle.dumps(frame, 5, buffer_callback=buffers.append)
            assert not any(numpy.shares_memory(frame.pixels, numpy.frombuffer(one, "u1")) for one in buffers if one.raw().nbytes)
        for part in (frame.truth, frame.truth.lattices[0], frame.experiment.panels[0], frame.experiment.crystals[0]):
            assert type(pickle.loads(pickle.dumps(part))) is type(copy.deepcopy(part)) is type(part)
    assert frame.assembled.any() and frame.experiment.places and "places" not in frame.experiment.__getstate__()
    kept = [pickle.dumps(frame) for frame in braggpipe.open(SMALL.format(60, "--seed=2"))]  # many more than slots of shared memory
    assert {one.number: int(one.image.sum()) for one in map(pickle.loads, kept)} == \
        {one.number: int(one.image.sum()) for one in braggpipe.open(SMALL.format(60, "--seed=2"))}
    recording = pickle.loads(pickle.dumps(braggpipe.open("x.rec")))  # a file is opened again
    assert all(is_same(one, two) for one, two in zip(braggpipe.open("x.rec"), recording))
    stream = braggpipe.open(SMALL.format(3, ""))
    for one in (stream, iter(stream)):
        for how in (pickle.dumps, copy.copy, copy.deepcopy):
            try:
                how(one)
            except TypeError as error:
                assert "braggpipe.open" in str(error), error
            else:
                raise AssertionError(how)
    assert len(list(stream)) == 3  # and goes on


def total(frame):
    return os.getpid(), frame.number, int(frame.image.sum()), frame.truth.lattices[0].rotation.tolist(), frame.image.flags.writeable


def total_at(frames, index):
    return total(frames[index])


class Images:
    """A data set of PyTorch."""

    def __init__(self, source):
        self.source = source

    def __len__(self):
        return 3

    def __getitem__(self, index):
        frames = sorted(self.source, key=lambda frame: frame.number)
        return frames[index].image.copy()


def processes():
    frames = {frame.number: frame for frame in braggpipe.open("x.rec")}
    expected = {number: total(frame)[2:] for number, frame in frames.items()}
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            for source in (braggpipe.open("x.rec"), braggpipe.open(SMALL.format(3, "--mosaic=0.1 --wavelength-jitter=1"))):
                found = list(pool.imap(total, source))
                assert {number: tuple(rest) for _, number, *rest in found} == expected, method
                assert os.getpid() not in [pid for pid, *_ in found]
            back = pool.map(copy.copy, frames.values())  # and back again
            assert all(is_same(frames[one.number], one) for one in back)
    stream = braggpipe.open(SMALL.format(20, ""))
    first = next(iter_of := iter(stream))
    child = os.fork()
    if not child:  # neither waits for ever nor stops the pipeline of its parent
        status = 0
        for begin in (lambda: iter(stream), lambda: iter_of):
            try:
                next(begin())
            except braggpipe.Error as error:
                status += "call braggpipe.open in this process" not in str(error) or not first.image.any()
            else:
                status += 10
        del stream, iter_of, first
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert 1 + sum(1 for _ in iter_of) == 20
    try:
        from torch.utils.data import DataLoader
    except ImportError:
        print("# PyTorch is missing")
        return
    for source in ("x.rec", "x.nxs"):
        if not os.path.exists(source):
            continue
        for what in (braggpipe.open(source), list(braggpipe.open(source))):
            for method, workers in (("fork", 2), ("spawn", 1)):  # a worker that is spawned imports PyTorch, which takes seconds
                if method == "spawn" and source == "x.nxs" and isinstance(what, list):
                    continue  # its frames are pickled like those of x.rec
                loaded = [batch[0].numpy() for batch in DataLoader(Images(what), num_workers=workers, multiprocessing_context=method)]
                assert [int(one.sum()) for one in loaded] == [expected[number][0] for number in range(3)], (source, method)


def file():
    with open("p.yaml", "w") as file:
        file.write("stages:\n- {name: geometry, args: [--detpixels=64]}\n- {name: orient, args: [--frames=9, --random]}\n"
                   "- {name: intensity, count: 2, threads: 1}\n- {name: noise}\n- {name: write, args: [y_%d.img]}\n"
                   "- {name: tap, args: [--record=y.rec], input: noise}\n")
    frames = braggpipe.open("p.yaml", set={"orient.frames": 5})
    numbers = [(frame.number, frame.unit) for frame in frames]
    assert sorted(numbers) == [(n, "ADU") for n in range(5)], numbers
    assert not [name for name in os.listdir() if name.startswith("y")]


def left():
    for frame in braggpipe.open(SMALL.format(100000, "")):
        pids = offspring()
        break
    assert len(pids) >= 3 and has_ended(pids), pids


def raised():
    try:
        for frame in braggpipe.open(SMALL.format(100000, "")):
            pids = offspring()
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert len(pids) >= 3 and has_ended(pids), pids


def interrupted():
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    try:
        for frame in braggpipe.open(SMALL.format(100000, "")):
            pids = pids if frame.number else offspring()
            if not signal.getitimer(signal.ITIMER_REAL)[0]:
                signal.setitimer(signal.ITIMER_REAL, 0.3)
    except KeyboardInterrupt:
        assert len(pids) >= 3 and has_ended(pids), pids
    else:
        raise AssertionError("there was no Ctrl-C")


def killed():
    child = os.fork()
    if not child:
        os.environ["PYTHON_FRAMES_TEST"] = str(os.getpid())
        for frame in braggpipe.open(SMALL.format(100000, "")):
            with open("pids.new", "w") as file:
                file.write(" ".join(map(str, offspring())))
            os.rename("pids.new", "pids")
            time.sleep(100)
    while not os.path.exists("pids"):
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pids = [int(pid) for pid in open("pids").read().split()]
    assert len(pids) >= 3 and has_ended(pids), pids


def two():
    pairs = list(zip(braggpipe.open(SMALL.format(6, "--seed=1")), braggpipe.open(SMALL.format(6, "--seed=2"))))
    assert len(pairs) == 6
    assert all(a.truth.seed == 1 and b.truth.seed == 2 for a, b in pairs)


def slow():
    numbers = []
    for frame in braggpipe.open(LARGE.format(12, "") .replace("--random", "--random --dead-after=1 --hang=1")):
        time.sleep(2.5 if not numbers else 0)
        numbers.append(frame.number)
    assert sorted(numbers) == list(range(12)), numbers


def kept():
    for source in (LARGE.format(100), SMALL.format(100, "")):
        frames = [(frame, frame.image.sum(dtype="f8")) for frame in braggpipe.open(source)]
        assert sorted(frame.number for frame, _ in frames) == list(range(100))
        assert all(frame.image.sum(dtype="f8") == total > 0 for frame, total in frames)


def failed():
    for source, words in ((SMALL.format(3, "--bogus"), "bogus"), ("bragg-nosuch | cat", "bragg-nosuch"),
                          (SMALL.format(3, "") + " | bragg-write z_%d.raw", "no frames"),
                          (SMALL.format(3, "").replace(" | bragg-intensity --quiet --threads=1", ""), "wants image")):
        try:
            list(braggpipe.open(source, start_timeout=20))
        except braggpipe.Error as error:
            assert words in str(error), error
        else:
            raise AssertionError(source)


def command(pid):
    """Returns the name with which a process was started; b"" if it has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().split(b"\0")[0]
    except OSError:
        return b""


def died():
    try:
        for frame in braggpipe.open(SMALL.format(100000, "")):
            if not frame.number:
                [os.kill(pid, signal.SIGKILL) for pid in offspring() if command(pid) == b"bragg-intensity"]
    except braggpipe.Error as error:
        assert "died" in str(error), error
    else:
        raise AssertionError("nobody has said so")


def options():
    frames = list(braggpipe.simulate(detpixels=(40, 30), frames=2, random=numpy.bool_(True), default_F=100, cell=(60, 70, 80, 90, 90, 90),
                                     crystal=[{"name": "A"}, {"name": "B", "ncells": 9}], water=0.1, noise={"seed": 3}))
    assert len(frames) == 2 and frames[0].image.shape == (30, 40) and frames[0].unit == "ADU"
    assert [c.name for c in frames[0].experiment.crystals] == ["A", "B"]
    assert "bragg-background" in frames[0].experiment.history and "given='--seed=3'" in frames[0].experiment.history.replace("given=--seed=3", "given='--seed=3'")
    for off in ({"noise": False, "dead": 0.5, "water": None}, {"dead": 0.5, "water": 1, "noise": False, "background": False}):  # in any order
        (light,) = braggpipe.simulate(detpixels=16, **off)
        assert light.unit == "photons" and not light.experiment.mask.any() and "bragg-background" not in light.experiment.history
    (dry,) = braggpipe.simulate(detpixels=16, water=0, noise=False)  # an amount may be 0
    assert "bragg-background" in dry.experiment.history and numpy.array_equal(dry.image, light.image)
    for bad, words in (({"detectr": "x"}, "'detector'"), ({"noise": {"sed": 1}}, "'seed'"), ({"quiet": True}, "quiet"), ({"geometry": False}, "bragg-geometry")):
        try:
            braggpipe.simulate(**bad)
        except TypeError as error:
            assert words in str(error), error
        else:
            raise AssertionError(bad)


def own():
    with open("add.py", "w") as file:
        file.write("import sys, numpy, braggpipe\nparser = braggpipe.parser()\nparser.add_argument('what', type=int)\n"
                   "options = parser.parse_args()\nbraggpipe.transform('add', lambda image, frame: image + options.what, options)\n")
    add = [sys.executable, "add.py"]
    set_of = {"detpixels": 16, "adc_offset": 0, "no_poisson": True, "fluence": 1, "before_noise": [*add, 7]}
    same = {**set_of, "frames": 2}
    assert [frame.image.min() for frame in braggpipe.simulate(**same)] == [7, 7]
    assert [frame.image.max() for frame in braggpipe.simulate(gain=3, after_noise=shlex.join([*add, "5"]), **same)] == [26, 26]
    (frame,) = braggpipe.Dataset(100, split="test", **set_of)[3:4]  # a set can have such a stage, too
    assert frame.number == 93 and "add" in frame.experiment.history and frame.image.max() == 7
    assert [frame.unit for frame in braggpipe.simulate(**{**same, "noise": False})] == ["photons"] * 2
    assert repr(braggpipe.simulate(**same)).startswith("<braggpipe.Pipeline: bragg-geometry --detpixels=16")
    for wrong, words in (({"befor_noise": "x"}, "'before_noise'"), ({"after_noise": print}, "braggpipe.transform")):
        try:
            braggpipe.simulate(**wrong)
        except TypeError as error:
            assert words in str(error), error
        else:
            raise AssertionError(wrong)


def images():
    made = subprocess.run("bragg-replay --quiet x.rec | bragg-noise --quiet | bragg-write --quiet 'i_%02d.img' 'i_%02d.cbf'", shell=True)
    assert made.returncode == 0
    noisy = {frame.number: frame.image.copy() for frame in braggpipe.open("bragg-replay --quiet x.rec | bragg-noise --quiet")}
    for source, numbers in (("i_01.img", [1]), ("i_01.cbf", [1]), ("i_*.img", [0, 1, 2])):
        frames = sorted(braggpipe.open(source), key=lambda frame: frame.number)
        assert [frame.number for frame in frames] == list(range(len(numbers))), source
        for frame, number in zip(frames, numbers):
            assert numpy.array_equal(frame.image, noisy[number]) and abs(frame.truth.wavelength_A - 1) < 0.1, source
    assert len(list(braggpipe.open("bragg-replay --first=2 x.rec"))) == 2


def refused():
    with open("text", "w") as file:
        file.write("no frames")
    with open("torn.rec", "wb") as file:
        file.write(open("x.rec", "rb").read()[:-20000])
    assert len(list(braggpipe.open("torn.rec"))) < 3
    with open("bad.rec", "wb") as file:
        whole = bytearray(open("x.rec", "rb").read())
        whole[-20000] ^= 1
        file.write(whole)
    for source, kind, words in (("text", ValueError, "unknown format; expected a recording"), ("nonesuch.rec", FileNotFoundError, "no such file"),
                                ("no_*.img", FileNotFoundError, "no such file"), (os.getcwd(), FileNotFoundError, "is a folder"), ("bragg-nosuch --x", braggpipe.Error, "bragg-nosuch"),
                                ("nonesuch", ValueError, "nonesuch"), ("bad.rec", ValueError, "corrupt"),
                                ("ipc://relative", braggpipe.Error, "expected an absolute path"), ("tcp://127.0.0.1:1", braggpipe.Error, "needs keys")):
        try:
            list(braggpipe.open(source))
        except kind as error:
            assert words in str(error), error
        else:
            raise AssertionError(source)


def dataset():
    """Frame k of a data set has the bits of frame k of a run, in any order, block, batch and process; parts share no frame."""
    options = dict(detpixels=40, pixel=2, ncells=5, random=True, mean_lattices=1.5, wavelength_jitter=1, seed=3)
    run = {frame.number: frame.detach() for frame in braggpipe.simulate(frames=230, **options)}
    whole = braggpipe.Dataset(230, block=7, keep=2, **options)
    assert len(whole) == 230 and whole.started == 0
    for index in 3, 0, 229, -1, 5, 112, numpy.int64(3), 228:
        assert is_same(run[index % 230], whole[index]), index
    assert whole.started == 4, whole.started  # blocks 0, 32 and 16, and 32 again, which is no longer kept
    assert [frame.number for frame in whole.__getitems__([200, 3, 17, 3])] == [200, 3, 17, 3] and whole.started == 5
    for index in 230, -231:
        try:
            whole[index]
        except IndexError as error:
            assert "the set has 230 frames" in str(error), error
        else:
            raise AssertionError(index)
    wanted = {"train": [n for n in range(230) if n % 100 < 80], "validation": [n for n in range(230) if 80 <= n % 100 < 90],
              "test": [n for n in range(230) if n % 100 >= 90]}
    for split, expected in wanted.items():
        part = braggpipe.Dataset(230, split=split, **options)
        assert all(is_same(run[number], frame) for number, frame in zip(expected, part, strict=True)) and len(part) == len(expected) and part.started == 1, split
        shuffle = braggpipe.BlockShuffle(part, 1)
        epochs = [list(shuffle), list(shuffle)]
        assert epochs[0] != epochs[1] and sorted(epochs[0]) == sorted(epochs[1]) == list(range(len(part))), split
        assert list(braggpipe.BlockShuffle(part, 1)) == epochs[0] and len(shuffle) == len(part)
        blocks = [part.number(index) // part.block for index in epochs[0]]
        assert sum(one != other for one, other in zip(blocks, blocks[1:])) == len(set(blocks)) - 1  # block after block
    sets = [braggpipe.Dataset(count, split="test", block=4, **options) for count in (200, 100, 299)]  # 20, 10 and 29 frames
    order = list(braggpipe.BlockShuffle(sets, 1))
    assert sorted(order) == list(range(59)) and len(braggpipe.BlockShuffle(sets)) == 59
    assert order != sorted(order)
    pieces = [(k, part.number(i) // 4) for k, part in enumerate(sets) for i in range(len(part))]
    blocks = [pieces[index] for index in order]
    assert sum(one != other for one, other in zip(blocks, blocks[1:])) == len(set(blocks)) - 1
    assert list(braggpipe.BlockShuffle([], 1)) == [] and list(braggpipe.BlockShuffle(sets[:1], 1)) == list(braggpipe.BlockShuffle(sets[0], 1))
    huge = braggpipe.Dataset(10 ** 9, split="test", **options)
    assert len(huge) == 10 ** 8 and huge.number(-1) == 10 ** 9 - 1
    small = braggpipe.Dataset(20, block=10, item=total_of, **options)
    for method in "fork", "spawn":  # who computes a frame does not matter
        with multiprocessing.get_context(method).Pool(2) as pool:
            found = pool.starmap(item_at, [(small, index) for index in (15, 2, 19)])
        assert [number for _, number, *_ in found] == [15, 2, 19] and [summed for _, _, summed in found] == [int(run[n].image.sum()) for n in (15, 2, 19)]
        assert os.getpid() not in [pid for pid, *_ in found]
    has_nxs = importlib.util.find_spec("h5py") and not subprocess.run("bragg-replay --quiet x.rec | bragg-write --quiet --overwrite --compression=gzip s.nxs", shell=True).returncode
    for source in ("x.rec", "s.nxs") if has_nxs else ("x.rec",):
        stored = braggpipe.Dataset(source, split="train")
        expected = {frame.number: frame for frame in braggpipe.open(source)}
        assert len(stored) == 3 and all(is_same(expected[index % 3], stored[index]) for index in (2, 0, -2)), source
        assert [frame.number for frame in pickle.loads(pickle.dumps(stored))] == [0, 1, 2], source
    for call, kind, words in ((lambda: braggpipe.Dataset(50, split="test", **options), ValueError, "split='test' is empty"),
                              (lambda: braggpipe.Dataset(50, split="valid"), ValueError, "expected 'train', 'validation', 'test'"),
                              (lambda: braggpipe.Dataset(50, only=3), TypeError, "'only'"), (lambda: braggpipe.Dataset(50, randon=True), TypeError, "'random'"),
                              (lambda: braggpipe.Dataset("x.rec", seed=3), TypeError, "got seed"), (lambda: braggpipe.Dataset(-1), ValueError, "at least 0"),
                              (lambda: braggpipe.Dataset(5, detpixels=1e9)[0], braggpipe.Error, "detpixels"),
                              (lambda: braggpipe.Dataset("p.yaml"), ValueError, "recording of bragg-tap")):
        with open("p.yaml", "w") as file:
            file.write("stages:\n- {name: geometry}\n- {name: orient}\n- {name: intensity}\n- {name: write, args: [z_%d.raw]}\n")
        try:
            call()
        except kind as error:
            assert words in str(error), error
        else:
            raise AssertionError(words)


def total_of(frame):
    return os.getpid(), frame.number, int(frame.image.sum())


def item_at(data, index):
    return data[index]


def beam():
    """Where the beam meets a panel, in pixels from its corner: also with several panels, tilted, and beside the beam."""
    for options in dict(detpixels=(64, 50), pixel=0.4, beam_center=(10, 6), convention="adxv"), dict(detpixels=64, rotate=(3, 20, 5)), \
            dict(detector="pilatus-300k", panels="modules"):
        (frame,) = braggpipe.simulate(ncells=3, noise=False, **options)
        experiment = frame.experiment
        for panel in experiment.panels:
            point = panel.origin_m + panel.pixel_m * (panel.beam[0] * panel.fast + panel.beam[1] * panel.slow)
            assert numpy.allclose(numpy.cross(point, experiment.beam), 0, atol=1e-12) and point @ experiment.beam > 0, options
        if "beam_center" in options:
            assert numpy.allclose(panel.beam, [25, 50 - 15], atol=1.01), panel.beam
    x, y, z = numpy.eye(3)
    for direction in -x, y:  # the plane is behind the crystal, or parallel to the beam
        assert numpy.isnan(_frame.make_panel((4, 4), 0, 1e-4, 0.1 * x, y, z, direction).beam).all()


def panels():
    (frame,) = braggpipe.simulate(detector="pilatus-300k", panels="modules", ncells=3, noise=False)
    (whole,) = braggpipe.simulate(detector="pilatus-300k", panels="image", ncells=3, noise=False)
    assert frame.image.shape == (3, 195, 487) and [panel.shape for panel in frame.panels] == [(195, 487)] * 3
    assert numpy.array_equal(frame.assembled, whole.image) and whole.assembled.shape == (619, 487)
    assert frame.stacked.shape == (3 * 195, 487) and numpy.array_equal(frame.stacked[195:390], frame.image[1])
    assert numpy.array_equal(whole.stacked, whole.image) and abs(whole.truth.energy_eV * whole.truth.wavelength_A - 12398.41984) < 1e-5
    panel = whole.experiment.panels[0]
    middle = panel.origin_m + panel.pixel_m * (487 / 2 * panel.fast + 619 / 2 * panel.slow)
    assert numpy.allclose(middle, 0.1 * whole.experiment.beam, atol=1e-3), middle


def sums():
    from braggpipe import _wire
    from braggpipe._wire import crc32c

    def slow_sum(data, crc=0):
        crc ^= 0xFFFFFFFF
        for byte in data:
            crc ^= byte
            for _ in range(8):
                crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
        return crc ^ 0xFFFFFFFF

    data = numpy.random.default_rng(1).bytes(150001)
    for _wire._FAST, _wire._FAST_MAX in ((_wire._FAST, 1 << 30), (_wire._FAST, 1000), (None, 0)):  # with ISA-L, if it is there, and without
        assert crc32c(b"123456789") == 0xE3069283
        for length in (0, 1, 4096, 4097, 5003, 47803, 100000, 150001):
            assert crc32c(data[:length]) == slow_sum(data[:length]), length
        assert crc32c(data[70000:], crc32c(data[:70000])) == crc32c(data)


def stages():
    folder = os.path.dirname(os.path.dirname(braggpipe.__file__))
    said = subprocess.run(f"{folder}/ring.py --quiet </dev/null | {folder}/vignette.py 0 --quiet | {folder}/brightest.py", shell=True, check=True,
                          capture_output=True, text=True)
    rows = sorted([float(word) for word in line.split()] for line in said.stdout.splitlines())
    assert len(rows) == 5 and not said.stderr, said
    for number, slow, fast, photons in rows:
        assert 99 < photons <= 100.01 and abs(numpy.hypot(slow - 99.5, fast - 99.5) - 60 - number) < 1, rows


def again():
    """Another loop over the same object gets the same frames, of a pipeline and of files; an endpoint says that it cannot."""
    with open("again.yaml", "w") as file:
        file.write("stages:\n- {name: geometry, args: [--detpixels=64]}\n- {name: orient, args: [--frames=3, --random]}\n- {name: intensity}\n"
                   "- {name: write, args: [z_%d.raw]}\n")
    if not os.path.exists("x.nxs"):
        subprocess.run("bragg-replay --quiet x.rec | bragg-write --quiet --compression=gzip x.nxs", shell=True, check=True)
    has_h5py = importlib.util.find_spec("h5py") is not None
    for source in (SMALL.format(3, ""), "again.yaml", "x.rec", *["x.nxs"] * has_h5py):
        frames = braggpipe.open(source)
        assert len(frames) == 3 and frames, source
        first = next(iter(frames)).detach()  # a loop that is left does not shorten the next one
        epochs = [{frame.number: frame.detach() for frame in frames} for _ in range(2)]
        assert sorted(epochs[0]) == sorted(epochs[1]) == [0, 1, 2] and len(frames) == 3, source
        assert all(is_same(epochs[0][number], epochs[1][number]) for number in range(3)) and is_same(first, epochs[0][first.number]), source
        assert len(list(zip(frames, frames))) == 3, source  # two loops at a time
        assert frames.experiment.lineage == first.experiment.lineage
    with braggpipe.open(SMALL.format(3, "")) as frames:
        pass
    endpoint = f"ipc://{os.getcwd()}/again"
    others = subprocess.Popen(SMALL.format(3, "") + f" --out=@{endpoint}", shell=True)
    once = braggpipe.open(endpoint)
    assert len(list(once)) == 3 and others.wait() == 0
    for name, loop in (("is closed", frames), ("has taken", once)):
        try:
            list(loop)
        except braggpipe.Error as error:
            assert "Call braggpipe.open" in str(error), error
        else:
            raise AssertionError(name)
    for name in "bragg-replay --quiet --loop=forever x.rec", endpoint:
        with braggpipe.open(name) as endless:
            try:
                len(endless)
            except TypeError:
                continue
            raise AssertionError(name)
    frames = braggpipe.open("false | cat")
    for _ in range(2):
        try:
            list(frames)
        except braggpipe.Error:
            continue
        raise AssertionError("no error")


def memory():
    """A function may use its memory again for the next frame, and keep parts of its images."""
    with open("same.py", "w") as file:
        file.write("import braggpipe, numpy\nmine = numpy.empty((64, 64), numpy.float32)\n"
                   "kept = []\ndef number(image, frame):\n    image[:] = mine[:] = frame.number\n"
                   "    kept.append(image[9:, 9:])\n    assert all((a == kept[0] + n).all() for n, a in enumerate(kept))\n"
                   "    return mine\n"
                   "braggpipe.transform('same', number)\n")
    frames = list(braggpipe.open(SMALL.format(200, "") + f" | {sys.executable} same.py --quiet"))
    assert len(frames) == 200 and all((frame.image == frame.number).all() for frame in frames)


LENT = """import braggpipe, numpy
kept = []
def back(image, frame):
    "What it was lent, or what else has these pixels; .kept are parts that it changes later."
    for part in kept:
        part[:] = -1
    kept.clear()
    image[:] = frame.image * 2
    n = frame.number
    if n % 8 == 1:
        kept.append(image[5:, 3:])
    if n % 8 == 2:
        kept.append(memoryview(image).cast("B"))
        kept[-1] = numpy.frombuffer(kept[-1], "f4")
    if n % 8 == 3:
        return image.astype("f8")
    if n % 8 == 4:
        image.shape = (-1,)
    if n % 8 == 5:
        return image.view("u4") if n == 5 else image[::1]
    if n % 8 == 6:
        return numpy.asfortranarray(image)
    if n % 8 == 7:
        return [*image]
    return image
braggpipe.transform("back", back)
"""


def lent():
    """A function returns the image that it was lent.  Later changes of this memory do not reach the frame."""
    with open("back.py", "w") as file:
        file.write(LENT)
    bare = {frame.number: frame.image.copy() for frame in braggpipe.open(LARGE.format(16))}
    count = 0
    for frame in braggpipe.open(LARGE.format(16) + f" | {sys.executable} back.py --quiet"):
        time.sleep(0.02)  # the function is ahead
        expected = bare[frame.number] * 2
        assert numpy.array_equal(frame.image, expected.view("u4") if frame.number == 5 else expected), frame.number
        count += 1
    assert count == 16 and bare[0].max() > 0


def unsound():
    """Pixels that are not finite do not pass.  Finite pixels whose sum overflows do."""
    for pixels, words in (("[numpy.inf, -numpy.inf]", "pixel 7 is inf"), ("[0, numpy.nan]", "pixel 8 is nan"), ("[-numpy.inf, 1]", "pixel 7 is -inf"),
                          ("[3e38, 3e38]", "")):
        with open("unsound.py", "w") as file:
            file.write("import braggpipe, numpy\ndef change(image, frame):\n"
                       f"    image.ravel()[7:9] = {pixels}\n    return image\nbraggpipe.transform('unsound', change)\n")
        try:
            (frame,) = braggpipe.open(LARGE.format(1) + f" | {sys.executable} unsound.py --quiet")
            assert not words and frame.pixels[7] == frame.pixels[8] == numpy.float32(3e38)
        except braggpipe.Error as error:
            assert words and words in str(error) and "expected a finite number" in str(error), error


def source():
    """The first Ctrl-C ends a source in Python and the pipeline that it started.  A second one at the end prints nothing."""
    with open("source.py", "w") as file:
        file.write("import atexit, braggpipe, numpy, os, signal\natexit.register(lambda: os.kill(os.getpid(), signal.SIGINT))\n"
                   "def flat(frame):\n    if frame.number == 50:\n        open('begun', 'w').close()\n"
                   "    return numpy.ones((64, 64))\n"
                   "braggpipe.source('flat', flat, frames=1000000, detpixels=64)\n")
    pipe = subprocess.Popen(f"trap : INT; {sys.executable} source.py --quiet </dev/null | bragg-tap --quiet --record=flat.rec",
                            shell=True, start_new_session=True, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
                            stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if os.path.exists("begun"):
            break
        time.sleep(0.05)
    os.killpg(pipe.pid, signal.SIGINT)
    said = pipe.communicate(timeout=30)[1]
    assert has_ended(offspring()) and not said, said
    assert len(list(braggpipe.open("flat.rec"))) > 10  # the recording is whole


def strangers():
    """Endpoints without a process, with a process that sends nonsense, and of a pipeline that goes on when the loop is left."""
    context = zmq.Context()
    router = context.socket(zmq.ROUTER)
    router.bind(f"ipc://{os.getcwd()}/nonsense")

    def talk():
        while True:
            address, *_ = router.recv_multipart()
            for parts in ([b""], [b"\xff" * 200, b""], [b"\x9b" + b"\x01" * 11, b"\xc1"], [os.urandom(50), os.urandom(60)]):
                router.send_multipart([address, *parts])

    threading.Thread(target=talk, daemon=True).start()
    for name, words in (("nobody", "no process binds"), ("nonsense", "no stage connected to the input")):
        began_s = time.monotonic()
        try:
            list(braggpipe.open(f"ipc://{os.getcwd()}/{name}", start_timeout=1))
        except braggpipe.Error as error:
            assert words in str(error) and time.monotonic() - began_s < 20, error
        else:
            raise AssertionError(name)
    endpoint = f"ipc://{os.getcwd()}/others"
    others = subprocess.Popen(SMALL.format(600, "") + f" | teststage pass --quiet --sleep=5 --out=@{endpoint} & bragg-tap --quiet --record=others.rec --in={endpoint}; wait",
                              shell=True)
    for frame in zip(range(5), braggpipe.open(endpoint, hold=False)):
        pass
    rest = sum(1 for _ in braggpipe.open(endpoint, hold=False))
    assert 100 < rest <= 600, rest
    assert others.wait() == 0 and len(list(braggpipe.open("others.rec"))) == 600


if __name__ == "__main__":
    os.environ["PYTHON_FRAMES_TEST"] = str(os.getpid())
    for name in sys.argv[1:]:
        globals()[name]()
