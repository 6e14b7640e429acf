"""What a user sees of bragg-view and of reports, in chromium.  The output is TAP; its numbers continue those of the calling script."""
import array
import asyncio
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time

from browser import Browser

RECORDING, FILES, PANELS = sys.argv[1:4]
PICTURES = sys.argv[4] if len(sys.argv) > 4 else None
SECONDS = float(os.environ.get('BRAGG_VIEW_SECONDS', 15))  # of a long stream; make soak has 600
checks = failed = 0


def check(name, good, note=''):
    global checks, failed
    checks += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} - {name}")
    if not good:
        print(f'# {name}: {note}', file=sys.stderr)


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Server:
    all = []

    def __init__(self, recording, port, *options):
        self.play = subprocess.Popen(['bragg-replay', *options, recording], stdout=subprocess.PIPE)
        self.view = subprocess.Popen(['bragg-view', f'--bind=127.0.0.1:{port}'], stdin=self.play.stdout, stdout=subprocess.PIPE)
        self.play.stdout.close()
        Server.all.append(self)
        self.address = self.view.stdout.readline().decode().strip()

    def stop(self):
        for process in (self.view, self.play):
            process.send_signal(signal.SIGTERM)
            process.wait()


def pixels(number):
    with open(FILES % number, 'rb') as file:
        data = file.read()
    return array.array('H', data[int(re.search(rb'HEADER_BYTES= *(\d+)', data).group(1)):])


async def picture(page, name):
    if PICTURES:
        await asyncio.sleep(0.5)
        await page.picture(f'{PICTURES}/{name}.png')


SHOWN = "document.body.dataset.number === '{}'"


def text(name):
    return f"document.getElementById('{name}').textContent"


async def box(page):
    return await page.run("(({left, top, width, height}) => ({left, top, width, height}))"
                          "(document.getElementById('image').getBoundingClientRect())")


async def hover(page, fast, slow, scale, left, top):
    """Moves the pointer to the middle of a pixel."""
    at = await box(page)
    await page.mouse('mouseMoved', at['left'] + (fast + 0.5 - left) * scale, at['top'] + (slow + 0.5 - top) * scale)
    await page.wait(f"{text('place')}.startsWith('fast {fast}, slow {slow}')", 10)
    return await page.run(text('place'))


async def look(page):
    await page.wait(SHOWN.format(4))
    names = await page.run("[...document.querySelectorAll('button, input, select, canvas:not([aria-hidden])')].filter((e) => "
                           "!(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.[0]?.textContent.trim())).length")
    check('all controls have names', names == 0, names)
    check('the page says which frame is shown', (await page.run(text('frame'))).startswith('Frame 3, 2 lattices'), await page.run(text('frame')))
    check('the page says that the stream has ended', 'ended. 4 frames' in await page.run(text('message')))
    wide = await page.run('document.documentElement.scrollWidth <= innerWidth')
    check('the image fits the window', wide)
    check('the page has the name of the crystal', await page.run("document.title") == 'lysozyme · bragg-view')
    await page.run("document.getElementById('close').click()")
    check('the message can be closed', await page.run("document.getElementById('message').getBoundingClientRect().height") == 0)
    await page.run("for (const id of ['showStrip', 'showPipeline']) document.getElementById(id).click()")
    check('the history of an ended stream is shown', await page.run("document.querySelectorAll('#strip path.area').length") == 3)
    check('the last state of the pipeline is shown', 'Last state' in await page.run(text('pipeline')), await page.run(text('pipeline')))
    await page.run("for (const id of ['showStrip', 'showPipeline']) document.getElementById(id).click()")
    await picture(page, 'whole')


async def values(page, width):
    """At scale 1 and at scale 64 each value is that of the file."""
    wanted = pixels(3)
    await page.key('1')
    await page.wait("document.body.dataset.scale === '1'", 10)
    left, top = [float(await page.run(f'document.body.dataset.{k}')) for k in 'xy']
    for fast, slow in ((500, 450), (333, 400), (612, 477)):
        await hover(page, fast, slow, 1, left, top)
        await page.wait(f"!{text('place')}.includes('maximum of')", 20)  # until pixels of this scale have come
        said = await page.run(text('place'))
        check(f'pixel {fast}, {slow} is that of the file', f': {wanted[slow * width + fast]} ADU' in said, said)
    brightest = max(range(len(wanted)), key=lambda i: wanted[i] if 300 < i % width < 700 and 300 < i // width < 600 else -1)
    await hover(page, brightest % width, brightest // width, 1, left, top)
    at = await box(page)
    x = math.ceil(at['left'] + brightest % width - left)  # whole: a wheel event has no fractions
    y = math.ceil(at['top'] + brightest // width - top)
    for _ in range(8):
        await page.mouse('mouseWheel', x, y, deltaX=0, deltaY=-160)
    await page.wait('Number(document.body.dataset.scale) > 40', 10)
    await page.wait(f"{text('place')}.includes(': {wanted[brightest]} ADU')", 10)
    check('the wheel zooms to the pixel under the pointer', True)
    inks = await page.run(f'''(() => {{
        const c = document.getElementById('overlay'), s = document.body.dataset, r = devicePixelRatio;
        const box = [({brightest % width} - s.x) * s.scale * r, ({brightest // width} - s.y) * s.scale * r, s.scale * r, s.scale * r];
        const d = c.getContext('2d').getImageData(...box.map(Math.round)).data;
        let white = 0, dark = 0;
        for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 200) d[i] > 230 ? white++ : d[i] < 60 && dark++;
        return [white, dark];
    }})()''')
    check('digits on a dark pixel are white, without an outline', inks[0] > 20 and inks[1] == 0, inks)
    await page.key('t')
    await picture(page, 'pixels')
    await page.key('ArrowRight')
    await page.key('0')
    await page.key('t')


async def controls(page):
    before = await page.run("document.getElementById('image').toDataURL()")
    await page.key('c')
    await page.wait("document.getElementById('image').toDataURL() !== " + repr(before), 10)
    check('c changes colours', True)
    await page.key('c')
    await page.key('t')
    await page.wait("document.body.dataset.marks > 20", 10)
    check('t shows reflections', True)
    check('the legend names the lattices', await page.run(text('legend')) == 'lattice 1lattice 2', await page.run(text('legend')))
    for typed, drawn, said in (('3, 1.5 2', '3.0 1.5 2.0', ''), ('3, x', None, 'must be resolutions in Å'), ('2, 0.1', '2.0', 'no ring at 0.1 Å'),
                               ('', None, '')):
        await page.run(f"document.getElementById('ringList').value = '{typed}', document.getElementById('ringList').dispatchEvent(new Event('input'))")
        if drawn:
            await page.wait(f"document.body.dataset.rings === '{drawn}'", 10)
        check(f'rings "{typed}"', said in await page.run(text('message')), await page.run(text('message')))
    await picture(page, 'reflections')
    await page.key(',')
    await page.wait(SHOWN.format(3), 10)
    check('comma goes back', '1 before the newest' in await page.run(text('frame')), await page.run(text('frame')))
    await page.run("document.getElementById('history').value = 1, document.getElementById('history').dispatchEvent(new Event('input'))")
    await page.wait(SHOWN.format(1), 10)
    check('the slider does', True)
    await page.key(' ')
    await page.wait(SHOWN.format(4), 10)
    check('space follows the newest again', True)
    await page.run("document.getElementById('high').value = 7, document.getElementById('high').dispatchEvent(new Event('input'))")
    check('contrast by hand is not automatic', not await page.run("document.getElementById('auto').checked"))


async def touch(page):
    """Two fingers zoom where they are, one moves the image."""
    at = await box(page)
    x, y = at['left'] + at['width'] / 2, at['top'] + at['height'] / 2

    async def view():
        return [float(await page.run(f'document.body.dataset.{k}')) for k in ('scale', 'x', 'y')]
    scale, left, top = await view()
    fast, slow = left + at['width'] / 2 / scale, top + at['height'] / 2 / scale
    await page.touch_moves([[x - 20 - 10 * i, y] for i in range(9)], [[x + 20 + 10 * i, y] for i in range(9)])
    await page.wait(f'Number(document.body.dataset.scale) > {4 * scale}', 10)
    zoomed, left, top = await view()
    check('two fingers zoom', abs(zoomed / scale - 5) < 0.3, zoomed / scale)
    off = [left + at['width'] / 2 / zoomed - fast, top + at['height'] / 2 / zoomed - slow]
    check('where they are', max(map(abs, off)) * zoomed < 3, off)
    await page.touch_moves([[x + 6 * i, y - 4 * i] for i in range(11)])
    await page.wait(f'Math.abs(document.body.dataset.x - {left - 60 / zoomed}) < {2 / zoomed}', 10)
    moved = await view()
    check('a finger moves', abs(moved[2] - top - 40 / zoomed) < 2 / zoomed and moved[0] == zoomed, (moved, zoomed, left, top))


def resident(process):
    with open(f'/proc/{process.pid}/status', encoding='ascii') as file:
        return 1024 * int(re.search(r'VmRSS:\s*(\d+)', file.read()).group(1))


async def long_stream(port):
    """The stream goes on, and the memory of server and page does not grow."""
    server = Server(RECORDING, port, '--loop=forever', '--rate=10')
    async with Browser(1000, 800) as page:
        await page.open(server.address)
        await page.wait("document.body.dataset.number > 110")  # as many as are kept are there
        begin = time.monotonic(), (await page.memory(), resident(server.view)), int(await page.run('document.body.dataset.number'))
        await asyncio.sleep(SECONDS)
        (heap, nodes), server_b = await page.memory(), resident(server.view)
        frames = int(await page.run('document.body.dataset.number')) - begin[2]
        seconds = time.monotonic() - begin[0]
        (heap_before, nodes_before), server_before = begin[1]
        print(f'# {frames} frames in {seconds:.0f} s: page {heap_before / 1e6:.2f} to {heap / 1e6:.2f} MB, '
              f'server {server_before / 1e6:.1f} to {server_b / 1e6:.1f} MB')
        check('each of ten frames a second is there', frames > 9 * seconds, (frames, seconds))
        check('the page holds no more than before', heap < 1.1 * heap_before + 2e5 and nodes < nodes_before + 50,
              (heap_before, heap, nodes_before, nodes))
        check('the server holds no more than before', server_b < 1.05 * server_before + 2e6, (server_before, server_b))
        server.stop()
        server = Server(PANELS, port)  # the same page gets another detector
        await page.wait(SHOWN.format(1))
        check('a page gets another detector', await page.run(text('frame')), await page.run(text('message')))
        check('the page with another detector has no errors', not page.complaints, page.complaints)
    server.stop()


async def files(port):
    """Files that record no lattices."""
    view = subprocess.Popen(['bragg-view', f'--bind=127.0.0.1:{port}', *(FILES % i for i in range(3))], stdout=subprocess.PIPE)
    address = view.stdout.readline().decode().strip()
    async with Browser(1000, 800) as page:
        await page.open(address)
        await page.wait(SHOWN.format(3))
        said = await page.run(text('frame'))
        check('a frame is named with its file, and is not called blank', said.startswith('Frame 2, lattices not known, a_2.img'), said)
        check('the title names the files', await page.run(text('title')) == 'a_0.img ... a_2.img (3 files)', await page.run(text('title')))
        check('reflections that are not known cannot be selected', await page.run("document.getElementById('truth').disabled"))
        check('the page complains of nothing', not page.complaints, page.complaints)
    view.send_signal(signal.SIGTERM)
    view.wait()


async def report():
    """The page of bragg-run --report: on a phone nothing is cut, on a screen no half row is empty."""
    address = f'file://{os.getcwd()}/report.html'
    async with Browser(390, 760, touch=True) as page:
        await page.open(address)
        cut = await page.run("[...document.querySelectorAll('td, th, img, svg')].filter((e) => "
                             "e.getBoundingClientRect().right > innerWidth).length")
        check('nothing of a report is cut on a phone', cut == 0, cut)
    async with Browser(1000, 800) as page:
        await page.open(address)
        empty = await page.run("[...document.querySelectorAll('.grid2')].filter((g) => Math.abs(g.getBoundingClientRect().right - "
                               "g.lastElementChild.getBoundingClientRect().right) > 2).length")
        check('no half row of a report is empty', empty == 0, empty)
        touch = await page.run("[...document.querySelectorAll('.card')].filter((c) => c.nextElementSibling?.matches('.card') && "
                               "c.nextElementSibling.offsetTop > c.offsetTop && c.nextElementSibling.offsetTop - c.offsetTop - c.offsetHeight < 4).length")
        check('no cards touch', touch == 0, touch)


async def killed(port):
    """The graph of the pipeline shows a stage that was killed."""
    with open('kill.yaml', 'w', encoding='ascii') as file:
        file.write(f"stages:\n- {{name: replay, args: [{os.getcwd()}/b.rec, --loop=100, --rate=20]}}\n"
                   "- {name: noise, count: 2}\n- {name: write, args: [x_%d.bin]}\n")
    run = subprocess.Popen(['bragg-run', '--quiet', '--workdir=killed', f'--view=127.0.0.1:{port}', 'kill.yaml'])
    shown = "document.getElementById('pipeline').textContent"
    try:
        async with Browser(1000, 800) as page:
            while True:
                try:
                    socket.create_connection(('127.0.0.1', port)).close()
                    break
                except OSError:
                    await asyncio.sleep(0.1)
            await page.open(f'http://127.0.0.1:{port}/')
            await page.run("document.getElementById('showPipeline').click()")
            await page.wait(shown + ".includes('noise × 2')")
            await page.wait("/busy [0-9]+ %/.test(" + shown + ')')
            order = await page.run(shown)
            check('the pipeline is a graph', order.index('replay') < order.index('noise') < order.index('write'), order)
            check('no process is excluded', 'excluded' not in order, order)
            subprocess.run(['pkill', '-KILL', '-o', '-P', str(run.pid), 'bragg-noise'], check=True)
            await page.wait(shown + ".includes('1 process was excluded')")
            check('the page names the killed process', re.search(r'process \d+: \w.* s ago', await page.run(shown)), await page.run(shown))
            await page.wait(shown + ".includes('noise × 2')")
            check('the page shows that the process is back', True)
            await picture(page, 'killed')
    finally:
        run.send_signal(signal.SIGINT)
        run.wait()


async def main():
    port = free_port()
    server = Server(RECORDING, port)
    async with Browser(1000, 800) as page:
        await page.open(server.address)
        await look(page)
        await values(page, 1000)
        await controls(page)
        server.stop()
        await page.wait(f"{text('message')}.includes('Trying to connect')")
        check('the page says that the server is gone', True)
        server = Server(RECORDING, port, '--first=2')
        await page.wait(SHOWN.format(2))
        check('the page goes on when the server is back', '2 frames' in await page.run(text('message')), await page.run(text('message')))
        await page.key('a')
        check('the script has nothing to complain of', not page.complaints, page.complaints)
    async with Browser(390, 760, dark=True, touch=True) as page:
        await page.open(server.address)
        await page.wait(SHOWN.format(2))
        check('a phone has it without scrolling', await page.run(
            'document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight'))
        paper = await page.run('getComputedStyle(document.body).backgroundColor')
        check('dark where the browser is', max(map(int, re.findall(r'\d+', paper)[:3])) < 64, paper)
        check('most of it is the image', (await box(page))['height'] > 560, await box(page))
        await page.run("for (const id of ['more', 'showStrip', 'more']) document.getElementById(id).click()")
        check('the history is one column', await page.run("new Set([...document.querySelectorAll('figure')].map((f) => f.offsetLeft)).size") == 1)
        await page.run("document.getElementById('showStrip').click()")
        await picture(page, 'phone')
        await touch(page)
        check('the page has no errors in one column', not page.complaints, page.complaints)
    server.stop()
    server = Server(PANELS, port)
    async with Browser(1000, 800) as page:
        await page.open(server.address)
        await page.wait(SHOWN.format(1))
        at = await box(page)
        await page.mouse('mouseMoved', at['left'] + at['width'] * 0.45, at['top'] + at['height'] * 0.3)
        await page.wait(f"/panel \\d+:|between/.test({text('place')})", 10)
        check('panels are named', True)
        await picture(page, 'panels')
        check('the page with panels has no errors', not page.complaints, page.complaints)
    server.stop()
    await files(free_port())
    await report()
    await killed(free_port())
    await long_stream(port)


try:
    asyncio.run(main())
except (RuntimeError, TimeoutError) as e:
    check('the page answers', False, e)
finally:
    for one in Server.all:
        one.stop()
with open('checks', 'w') as file:
    file.write(str(checks))
sys.exit(failed > 0)
