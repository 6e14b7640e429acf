"""eiger_clients.py CLIENT ADDRESS V1 FOLDER: a real client runs a series of bragg-eiger with 500K pixels.

CLIENT is
  fastcs    fastcs-eiger finds all keys, sets some, arms and triggers; psi-mflow receives the series; Pillow reads the monitor
  libertem  libertem-dectris receives a series that another client arms
  live      LiberTEM-live runs series and sums their images
  dectris   the client of Dectris that LiberTEM-live contains, in FOLDER: keys, commands, the pixel mask, the monitor; fabio
            reads its TIFF
  om        OM takes images from the monitor, and their series, number and time from fixed bytes
Fails unless all clients have the same pixels.
"""

import asyncio
import base64
import importlib.util
import io
import json
import os
import re
import sys
import tempfile
import threading
import time
import urllib.request

import numpy

client, address, v1, folder = sys.argv[1:]
host, port = re.match(r"http://(.*):(\d+)", address).groups()
SHAPE = (512, 1028)


def ask(method, path, value=None):
    body = b"" if value is None else json.dumps({"value": value}).encode()
    return urllib.request.urlopen(urllib.request.Request(f"{address}/{path}", body if method == "PUT" else None, method=method), timeout=60).read()


def put(path, value=None):
    return ask("PUT", path, value)


def take_series(images):
    """mflow receives a series of plain images, and appends them to the list."""
    import mflow

    stream = mflow.connect(f"tcp://127.0.0.1:{v1}", mflow.CONNECT, mflow.PULL, receive_timeout=30000)
    images.append(stream.receive().data)
    while (message := stream.receive().data)["header"]["htype"] != "dseries_end-1.0":
        assert message["header"]["frame"] == len(images) - 1
        images.append(numpy.frombuffer(message["part_3_raw"], message["part_2"]["type"]).reshape(SHAPE))
    stream.disconnect()


async def run_fastcs():
    from fastcs.connections import IPConnectionSettings
    from fastcs_eiger.controllers.eiger_controller import EigerController
    from PIL import Image

    eiger = EigerController(IPConnectionSettings(host, int(port)), api_version="1.8.0")
    await eiger.initialise()
    parts = eiger.sub_controllers
    detector = parts["detector"]
    sizes = {name: len(part.attributes) for name, part in parts.items()}
    assert sizes["detector"] > 70 and sizes["stream"] >= 8 and sizes["monitor"] >= 7, sizes

    async def set_key(part, key, value):
        await part._io.send(part.attributes[key], value)
        await eiger.update()

    async def read_key(part, key):
        await part._io.update(part.attributes[key])
        return part.attributes[key].get()

    assert await read_key(detector, "state") == "idle"  # it has sent initialize
    await set_key(parts["stream"], "header_detail", "all")
    await set_key(parts["monitor"], "mode", "enabled")
    for key, value in dict(trigger_mode="ints", count_time=0.05, frame_time=0.06, nimages=2, ntrigger=2, photon_energy=12700.0, omega_increment=0.1, compression="none").items():
        await set_key(detector, key, value)
    assert detector.attributes["bit_depth_image"].get() == 32 and detector.attributes["threshold_1_energy"].get() == 6350
    images = []
    receiver = threading.Thread(target=take_series, args=(images,))
    receiver.start()
    await eiger.arm_when_ready()
    assert await read_key(detector, "state") == "ready"
    for state in "ready", "idle":
        await detector.trigger()
        for _ in range(200):
            if await read_key(detector, "state") == state:
                break
            await asyncio.sleep(0.05)
        assert await read_key(detector, "state") == state
    await asyncio.to_thread(receiver.join)
    header, *images = images
    assert header["part_2"]["photon_energy"] == 12700 and header["part_2"]["ntrigger"] == 2 and len(header["part_6_raw"]) == 4 * 512 * 1028
    assert len(images) == 4
    for number in range(4):
        answer, tiff = await eiger.connection.get_bytes("monitor/api/1.8.0/images/next")
        assert answer.status == 200 and (numpy.array(Image.open(io.BytesIO(tiff))) == images[number]).all(), number
    answer, _ = await eiger.connection.get_bytes("monitor/api/1.8.0/images/next")
    assert answer.status == 408
    for command in detector.disarm, detector.abort, detector.cancel:
        await command()
    await eiger.connection.close()


def fastcs():
    asyncio.run(run_fastcs())


def libertem():
    import libertem_dectris
    from PIL import Image

    frames = 4
    put("monitor/api/1.8.0/config/mode", "enabled")
    for key, value in dict(nimages=frames, frame_time=0.1, compression="bslz4").items():
        put(f"detector/api/1.8.0/config/{key}", value)
    place = os.path.join(tempfile.mkdtemp(), "socket")
    connection = libertem_dectris.DectrisConnection(
        f"tcp://127.0.0.1:{v1}", 4, place, num_slots=64, bytes_per_frame=SHAPE[0] * SHAPE[1] * 4, huge=False
    )
    connection.start_passive(10)
    put("detector/api/1.8.0/command/arm")
    config, series = connection.wait_for_arm(30)
    assert config.get_num_frames() == frames, config
    trigger = threading.Thread(target=put, args=("detector/api/1.8.0/command/trigger",))
    trigger.start()
    cam, seen = libertem_dectris.CamClient(place), []
    while len(seen) < frames:
        stack = connection.get_next_stack(max_size=4)
        if stack is None:
            continue
        pixels = numpy.zeros((len(stack), *SHAPE), "uint32")
        cam.decode_range_into_buffer(stack, pixels, 0, len(stack))
        cam.done(stack)
        seen.extend(pixels)
    trigger.join()
    connection.close()
    for number in range(frames):
        tiff = ask("GET", f"monitor/api/1.8.0/images/{series}/{number}")
        assert (numpy.array(Image.open(io.BytesIO(tiff))) == seen[number]).all(), number


def live():
    """LiberTEM-live arms and triggers, or waits until another client arms; it sums the images in a process of its own."""
    from libertem.executor.pipelined import PipelinedExecutor
    from libertem.udf.sum import SumUDF
    from libertem.udf.sumsigudf import SumSigUDF
    from libertem_live.api import Hooks, LiveContext
    from PIL import Image

    class Trigger(Hooks):
        def on_ready_for_data(self, env):
            threading.Thread(target=env.aq.get_api_client().sendDetectorCommand, args=("trigger",)).start()

    def check(series, results):
        images = [numpy.array(Image.open(io.BytesIO(ask("GET", f"monitor/api/1.8.0/images/{series}/{k}")))) for k in range(6)]
        assert (results[0]["intensity"].data == numpy.sum(images, axis=0)).all()
        assert (results[1]["intensity"].data.ravel() == [image.sum() for image in images]).all()
        assert sum(image.sum() for image in images) > 1000

    put("monitor/api/1.8.0/config/mode", "enabled")
    executor = PipelinedExecutor(spec=PipelinedExecutor.make_spec(cpus=range(1), cudas=[]), startup_timeout=200)
    context = LiveContext(executor=executor)
    place = dict(api_host=host, api_port=int(port), data_host=host, data_port=int(v1), buffer_size=256, frame_stack_size=4)
    for series, compression in (1, "bslz4"), (2, "lz4"):
        with context.make_connection("dectris").open(**place) as connection:
            controller = connection.get_active_controller(
                trigger_mode="ints", count_time=0.019, frame_time=0.02, compression=compression, enable_corrections=True, mask_to_zero=True
            )
            run = context.make_acquisition(conn=connection, nav_shape=(2, 3), controller=controller, hooks=Trigger(), frames_per_partition=3)
            check(series, context.run_udf(dataset=run, udf=[SumUDF(), SumSigUDF()]))
    with context.make_connection("dectris").open(**place) as connection:
        connection.wait_for_acquisition(timeout=0.5)
        put("detector/api/1.8.0/command/arm")
        pending = connection.wait_for_acquisition(timeout=30)
        threading.Thread(target=put, args=("detector/api/1.8.0/command/trigger",)).start()
        run = context.make_acquisition(conn=connection, nav_shape=(2, 3), pending_aq=pending, frames_per_partition=3)
        check(3, context.run_udf(dataset=run, udf=[SumUDF(), SumSigUDF()]))
    context.close()


def read_darray(value):
    assert value["__darray__"] == [1, 0, 0] and value["filters"] == ["base64"]
    return numpy.frombuffer(base64.b64decode(value["data"]), value["type"]).reshape(value["shape"][::-1])


def dectris():
    import fabio

    place = f"{folder}/libertem_live/detectors/dectris/DEigerClient.py"
    spec = importlib.util.spec_from_file_location("DEigerClient", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    eiger = module.DEigerClient(host, int(port))
    assert eiger.detectorStatus("state")["value"] == "na"
    eiger.sendDetectorCommand("initialize")
    assert set(eiger.listDetectorCommands()) >= {"arm", "trigger", "disarm"} and "count_time" in eiger.listDetectorConfigParams()
    assert eiger.setDetectorConfig("frame_time", 0.004)
    mask = numpy.zeros(SHAPE, "uint32")
    mask[100, 200], mask[500, 1000] = 2, 16
    darray = eiger.detectorConfig("pixel_mask")["value"]
    assert not read_darray(darray).any()
    changed = eiger.setDetectorConfig("pixel_mask", {**darray, "data": base64.b64encode(mask.tobytes()).decode()})
    assert "pixel_mask" in changed, changed
    assert (read_darray(eiger.detectorConfig("pixel_mask")["value"]) == mask).all()
    assert (read_darray(eiger.detectorConfig("threshold/1/flatfield")["value"]) == 1).all()
    eiger.setMonitorConfig("mode", "enabled")
    eiger.sendDetectorCommand("arm")
    eiger.sendDetectorCommand("trigger")
    eiger.monitorSave("monitor", "monitor.tif")
    assert eiger.monitorImages() == [[1, [0]]] and eiger.monitorStatus("dropped")["value"] == 0
    pixels = fabio.open("monitor.tif").data
    assert pixels.dtype == numpy.uint16 and pixels.shape == SHAPE
    assert ((pixels == 65535) == (mask != 0)).all() and pixels[mask == 0].sum() > 1000
    assert eiger.monitorImages((1, 0)) == open("monitor.tif", "rb").read()
    eiger.sendMonitorCommand("clear")
    assert eiger.monitorImages() == []


class OmParameters:
    def get_parameter(self, *, group, parameter, parameter_type=None, required=False):
        return {"eiger_monitor_buffer_size": 50, "required_data": ["timestamp", "detector_data", "event_id"]}[parameter]


def om():
    from om.data_retrieval_layer import data_sources_http as sources
    from om.data_retrieval_layer.data_event_handlers_http import EigerHttpDataEventHandler

    frames, given = 3, OmParameters()
    parts = {
        "timestamp": sources.TimestampEiger16MHttp(data_source_name="timestamp", monitor_parameters=given),
        "detector_data": sources.Eiger16MHttp(data_source_name="detector", monitor_parameters=given),
        "event_id": sources.EventIdEiger16MHttp(data_source_name="eventid", monitor_parameters=given),
    }
    handler = EigerHttpDataEventHandler(source=f"{address}/monitor/api/1.8.0", data_sources=parts, monitor_parameters=given)
    handler.initialize_event_handling_on_collecting_node(node_rank=0, node_pool_size=2)
    handler.initialize_event_handling_on_processing_node(node_rank=1, node_pool_size=2)
    put("detector/api/1.8.0/config/nimages", frames)
    put("detector/api/1.8.0/command/arm")
    start = time.time()
    threading.Thread(target=put, args=("detector/api/1.8.0/command/trigger",)).start()
    events = handler.event_generator(node_rank=1, node_pool_size=2)
    for number in range(frames):
        data = handler.extract_data(event=next(events))
        assert data["event_id"] == f"1_{number}", data["event_id"]
        assert data["detector_data"].shape == SHAPE and data["detector_data"].sum() > 1000
        assert start - 0.01 <= float(data["timestamp"]) <= time.time() + 0.01, data["timestamp"]


if __name__ == "__main__":  # processes of LiberTEM read this file, too
    globals()[client]()
