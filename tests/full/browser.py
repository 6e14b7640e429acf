"""Controls Debian's chromium, without a screen, through its DevTools protocol; needs python3-websockets.

    async with Browser(1000, 700) as page:
        await page.open('http://127.0.0.1:8080/')
        await page.wait("document.title != ''")
        await page.run('1 + 1')

page.complaints has the errors of the scripts of the page.
"""
import asyncio
import base64
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request

import websockets

PATIENCE_S = 60


class Browser:
    def __init__(self, width, height, dark=False, touch=False):
        self.size, self.dark, self.touch = (width, height), dark, touch
        self.numbers, self.answers, self.complaints = itertools.count(1), {}, []

    async def __aenter__(self):
        self.folder = tempfile.mkdtemp()
        self.process = subprocess.Popen(
            ['chromium', '--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run',
             '--disable-dev-shm-usage', '--remote-debugging-port=0', f'--user-data-dir={self.folder}', 'about:blank'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port = self._port()
        with urllib.request.urlopen(f'http://127.0.0.1:{port}/json/list') as answer:
            page = next(t for t in json.load(answer) if t['type'] == 'page')
        self.socket = await websockets.connect(page['webSocketDebuggerUrl'], max_size=None)
        self.reader = asyncio.create_task(self._read())
        await self.call('Runtime.enable')
        await self.call('Page.enable')
        await self.resize(*self.size)
        if self.dark:
            await self.call('Emulation.setEmulatedMedia', features=[{'name': 'prefers-color-scheme', 'value': 'dark'}])
        return self

    async def __aexit__(self, *_):
        self.reader.cancel()
        await self.socket.close()
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _port(self):
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            try:
                with open(f'{self.folder}/DevToolsActivePort') as file:
                    return int(file.readline())
            except (FileNotFoundError, ValueError):
                time.sleep(0.05)
        raise TimeoutError('chromium does not start')

    async def _read(self):
        async for text in self.socket:
            message = json.loads(text)
            if 'id' in message:
                self.answers.pop(message['id']).set_result(message)
            elif message['method'] == 'Runtime.exceptionThrown':
                details = message['params']['exceptionDetails']
                self.complaints.append(details.get('exception', {}).get('description') or details['text'])
            elif message['method'] == 'Runtime.consoleAPICalled':
                self.complaints.append(str([a.get('value') for a in message['params']['args']]))

    async def call(self, method, **params):
        number = next(self.numbers)
        self.answers[number] = answer = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({'id': number, 'method': method, 'params': params}))
        message = await asyncio.wait_for(answer, PATIENCE_S)
        if 'error' in message:
            raise RuntimeError(f"{method}: {message['error']}")
        return message['result']

    async def resize(self, width, height):
        self.size = (width, height)
        await self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1,
                        mobile=self.touch)
        if self.touch:
            await self.call('Emulation.setTouchEmulationEnabled', enabled=True)

    async def open(self, address):
        """Returns when the page and its scripts are loaded.  Before that, the blank first page would answer."""
        answer = await self.call('Page.navigate', url=address)
        if 'errorText' in answer:
            raise ConnectionError(f"{address}: {answer['errorText']}")
        await self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")

    async def run(self, script):
        """Returns the value of an expression in the page."""
        result = await self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result['result'].get('value')

    async def wait(self, script, patience_s=PATIENCE_S):
        """Waits until an expression is true."""
        end = time.monotonic() + patience_s
        while not await self.run(f'document.body && ({script})'):
            if time.monotonic() > end:
                raise TimeoutError(f'{script}: {self.complaints}')
            await asyncio.sleep(0.05)

    async def mouse(self, kind, x, y, **more):
        await self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, **more)

    async def key(self, key, text=''):
        await self.call('Input.dispatchKeyEvent', type='keyDown', key=key, text=text or (key if len(key) == 1 else ''))
        await self.call('Input.dispatchKeyEvent', type='keyUp', key=key)

    async def touch_moves(self, *fingers):
        """Moves fingers along their paths, lists of equally many [x, y], and lifts them."""
        for i, points in enumerate(zip(*fingers)):
            await self.call('Input.dispatchTouchEvent', type='touchMove' if i else 'touchStart',
                            touchPoints=[{'x': x, 'y': y, 'id': n} for n, (x, y) in enumerate(points)])
        await self.call('Input.dispatchTouchEvent', type='touchEnd', touchPoints=[])

    async def memory(self):
        """Returns the number of bytes that the scripts of the page use, and the number of its nodes."""
        await self.call('Performance.enable')
        for _ in range(3):
            await self.call('HeapProfiler.collectGarbage')
        metrics = {m['name']: m['value'] for m in (await self.call('Performance.getMetrics'))['metrics']}
        return metrics['JSHeapUsedSize'], metrics['Nodes']

    async def picture(self, path):
        data = await self.call('Page.captureScreenshot', format='png')
        with open(path, 'wb') as file:
            file.write(base64.b64decode(data['data']))
