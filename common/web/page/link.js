// The websocket: decodes messages, and connects again after the connection was lost.

const HEAD = 72; // bytes of the head of a message
const TYPES = [Float32Array, Uint16Array, Uint32Array, Int32Array];
const KINDS = {1: 'tile', 2: 'mask', 3: 'marks', 4: 'gone'};
const MARK = 28; // bytes of a mark

// Decodes the head of a binary message, a struct web_head of the server.
function readHead(view) {
  const whole = (at) => Number(view.getBigUint64(at, true));
  const int = (at) => view.getInt32(at, true);
  return {
    what: KINDS[view.getUint32(0, true)], type: view.getUint32(4, true),
    number: whole(8), id: view.getBigUint64(16, true).toString(),
    x: int(24), y: int(28), width: int(32), height: int(36), factor: int(40),
    mean: int(44) === 1, items: view.getUint32(48, true), lattices: view.getUint32(52, true),
    time: view.getFloat64(56, true), wavelength: view.getFloat64(64, true),
  };
}

function readMarks(buffer, count) {
  const view = new DataView(buffer, HEAD);
  const marks = [];
  for (let i = 0; i < count; i++) {
    const float = (at) => view.getFloat32(i * MARK + at, true);
    const int = (at) => view.getInt32(i * MARK + at, true);
    marks.push({x: float(0), y: float(4), photons: float(8), lattice: int(12), hkl: [int(16), int(20), int(24)]});
  }
  return marks;
}

function readBinary(buffer) {
  const head = readHead(new DataView(buffer));
  if (head.what === 'tile') head.values = new TYPES[head.type](buffer, HEAD, head.width * head.height);
  if (head.what === 'mask') head.values = new Uint8Array(buffer, HEAD, head.width * head.height);
  if (head.what === 'marks') head.marks = readMarks(buffer, head.items);
  return head;
}

// Connects to the server.  Calls on[what](message) for each message, on.open() and on.lost().  Returns
// a function send(text), which drops the text while there is no connection.
export function connect(on) {
  let socket = null;
  let wait = 250; // ms until the next attempt
  function open() {
    const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
    socket = new WebSocket(`${scheme}//${location.host}/`, 'bragg-view');
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => { wait = 250; on.open(); };
    socket.onmessage = (event) => {
      const message = typeof event.data === 'string' ? JSON.parse(event.data) : readBinary(event.data);
      on[message.what]?.(message);
    };
    socket.onclose = () => {
      on.lost();
      setTimeout(open, wait);
      wait = Math.min(2 * wait, 5000);
    };
  }
  open();
  return (text) => { if (socket.readyState === WebSocket.OPEN) socket.send(text); };
}
