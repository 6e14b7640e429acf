// Turns actions of the mouse, fingers and keys into moves of the view.

const STEP = 60; // CSS pixels that an arrow key moves

function place(element, event) {
  const box = element.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function listenToFingers(element, on) {
  const fingers = new Map();
  const spread = () => {
    const [a, b] = [...fingers.values()];
    return b && {size: Math.hypot(a[0] - b[0], a[1] - b[1]), middle: [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]};
  };
  element.addEventListener('pointerdown', (event) => {
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(element, event));
  });
  element.addEventListener('pointermove', (event) => {
    const at = place(element, event);
    on.hover(at);
    if (!fingers.has(event.pointerId)) return;
    const before = spread();
    const last = fingers.get(event.pointerId);
    fingers.set(event.pointerId, at);
    const after = spread();
    if (!after) { on.move(at[0] - last[0], at[1] - last[1]); return; }
    on.move(after.middle[0] - before.middle[0], after.middle[1] - before.middle[1]);
    if (before.size > 0) on.zoom(after.size / before.size, after.middle);
  });
  for (const end of ['pointerup', 'pointercancel'])
    element.addEventListener(end, (event) => fingers.delete(event.pointerId));
}

// Calls on.move(dx, dy), on.zoom(factor, [x, y]) and on.hover([x, y]) in CSS pixels of `element`.
// Other keys call on.key[letter]().
export function listen(element, on) {
  listenToFingers(element, on);
  element.addEventListener('wheel', (event) => {
    event.preventDefault();
    on.zoom(Math.exp(-Math.max(-200, Math.min(200, event.deltaY)) / 300), place(element, event));
  }, {passive: false});
  const arrows = {ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP]};
  document.addEventListener('keydown', (event) => {
    const control = /** @type {Element} */ (event.target);
    const typing = control.matches('input:not([type="checkbox"]), select');
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === ' ' && control.matches('button, input')) return;
    if (arrows[event.key]) on.move(...arrows[event.key]);
    else if (on.key[event.key]) on.key[event.key]();
    else return;
    event.preventDefault();
  });
}
