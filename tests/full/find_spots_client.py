#!/usr/bin/python3
"""find_spots_client.py PORT COUNT TEMPLATE: asks dials.find_spots_server for the spots of
frames 0 to COUNT - 1 as soon as each file is there, and prints a line FRAME SPOTS for each."""
import http.client
import json
import os
import sys
import time

port, count, template = int(sys.argv[1]), int(sys.argv[2]), os.path.abspath(sys.argv[3])
for frame in range(count):
    path = template % frame
    while not os.path.exists(path):
        time.sleep(0.02)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, text
    print(frame, json.loads(text)["n_spots_total"], flush=True)
