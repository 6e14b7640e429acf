"""What a person sees of bragg-view, in chromium.  TAP, numbered on from the script that calls it."""
import array
import asyncio
import re
import signal
import socket
import subprocess
import sys

from browser import Browser

RECORDING, FILES, PANELS = sys.argv[1:4]
PICTURES = sys.argv[4] if len(sys.argv) > 4 else None
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
    """The pointer on the middle of a pixel."""
    at = await box(page)
    await page.mouse('mouseMoved', at['left'] + (fast + 0.5 - left) * scale, at['top'] + (slow + 0.5 - top) * scale)
    await page.wait(f"{text('place')}.startsWith('fast {fast}, slow {slow}')", 10)
    return await page.run(text('place'))


async def look(page):
    await page.wait(SHOWN.format(4))
    names = await page.run("[...document.querySelectorAll('button, input, select, canvas:not([aria-hidden])')].filter((e) => "
                           "!(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.[0]?.textContent.trim())).length")
    check('all controls have names', names == 0, names)
    check('it says which frame that is', (await page.run(text('frame'))).startswith('Frame 3, 2 lattices'), await page.run(text('frame')))
    check('and that the stream has ended', 'ended. 4 frames' in await page.run(text('message')))
    wide = await page.run('document.documentElement.scrollWidth <= innerWidth')
    check('it fits the window', wide)
    await picture(page, 'whole')


async def values(page, width):
    """At scale 1 and at 64 each value is that of the file."""
    wanted = pixels(3)
    await page.key('1')
    await page.wait("document.body.dataset.scale === '1'", 10)
    left, top = [float(await page.run(f'document.body.dataset.{k}')) for k in 'xy']
    for fast, slow in ((500, 450), (333, 400), (612, 477)):
        said = await hover(page, fast, slow, 1, left, top)
        check(f'pixel {fast}, {slow} is that of the file', f': {wanted[slow * width + fast]} ADU' in said, said)
    brightest = max(range(len(wanted)), key=lambda i: wanted[i] if 300 < i % width < 700 and 300 < i // width < 600 else -1)
    await hover(page, brightest % width, brightest // width, 1, left, top)
    at = await box(page)
    x, y = at['left'] + (brightest % width + 0.5 - left), at['top'] + (brightest // width + 0.5 - top)
    for _ in range(8):
        await page.mouse('mouseWheel', x, y, deltaX=0, deltaY=-160)
    await page.wait('Number(document.body.dataset.scale) > 40', 10)
    await page.wait(f"{text('place')}.includes(': {wanted[brightest]} ADU')", 10)
    check('the wheel zooms to the pixel under the pointer', True)
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
        check('and goes on when it is back', '2 frames' in await page.run(text('message')), await page.run(text('message')))
        await page.key('a')
        check('the script has nothing to complain of', not page.complaints, page.complaints)
    async with Browser(390, 760, dark=True, touch=True) as page:
        await page.open(server.address)
        await page.wait(SHOWN.format(2))
        check('a phone has it without scrolling', await page.run(
            'document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight'))
        paper = await page.run('getComputedStyle(document.body).backgroundColor')
        check('dark where the browser is', max(map(int, re.findall(r'\d+', paper)[:3])) < 64, paper)
        check('most of it is the image', (await box(page))['height'] > 380, await box(page))
        await picture(page, 'phone')
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
        check('and nothing goes wrong', not page.complaints, page.complaints)
    server.stop()


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
