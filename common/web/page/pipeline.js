// The state of the pipeline, as its source reports it: a box for each stage, in the order of the stream.

const ENDLESS = 2 ** 52; // a stream with more frames has no end

function element(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

const frames = (n) => `${n} ${n === 1 ? 'frame' : 'frames'}`;
const percent = (fraction) => `${Math.round(100 * fraction)} %`;

// Formats a time as m:ss or h:mm:ss.
export function formatTime(seconds) {
  const s = Math.ceil(seconds);
  const two = (v) => String(v).padStart(2, '0');
  const [hours, minutes] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  return hours ? `${hours}:${two(minutes)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
}

function box(process, count) {
  const e = element('div', undefined, process.bottleneck ? 'stage slowest' : 'stage');
  e.append(element('b', process.stage.replace(/^bragg-/, '') + (count > 1 ? ` × ${count}` : '')));
  e.append(element('small', `${frames(process.frames)}, holds ${process.held}`));
  if (process.compute === undefined) return e;
  const meter = element('meter');
  meter.value = process.compute;
  meter.setAttribute('aria-label', `fraction of time that ${process.stage} computes`);
  e.append(meter, element('small', `busy ${percent(process.compute)}, ${process.cpus.toFixed(2)} cores`));
  e.append(element('small', `waits ${percent(process.wait_in)} for input, ${percent(process.wait_out)} for output`));
  if (process.bottleneck) e.append(element('small', 'bottleneck'));
  return e;
}

function summary({run, fenced, givenUp}, ended) {
  const endless = run.total === null || run.total > ENDLESS;
  const e = element('div', undefined, 'stage');
  e.append(element('b', ended ? 'Last state' : `${run.frames_s.toFixed(1)} frames/s`));
  if (ended) e.append(element('small', `${run.elapsed_s.toFixed(1)} s after the start`));
  e.append(element('small', `${run.acknowledged}${endless ? '' : ` of ${run.total}`} done`));
  if (!ended && !endless && run.left_s !== null) e.append(element('small', `${formatTime(run.left_s)} left`));
  if (run.ended !== undefined) e.append(element('small', `ended with status ${run.ended}`));
  for (const f of fenced.slice(-3)) e.append(element('small', `process ${f.pid}: ${f.reason} (${Math.round(f.ago_s)} s ago)`));
  if (fenced.length)
    e.append(element('small', `${fenced.length} ${fenced.length === 1 ? 'process was' : 'processes were'} excluded`));
  if (givenUp) e.append(element('small', `frame ${givenUp - 1} was abandoned`));
  return e;
}

// Shows a message about the pipeline in `section`.  `message` is null if none has arrived; `ended` is
// true after the end of the stream, when the last state is shown in grey.
export function showPipeline(section, message, ended) {
  section.classList.toggle('past', ended);
  if (!message) {
    section.replaceChildren(element('small', ended
      ? 'The stream ended before its source reported the state of the pipeline.'
      : 'The state of the pipeline is not known. The source must be on this host.'));
    return;
  }
  const columns = new Map();
  for (const process of message.run.processes) {
    const hops = process.hops;
    if (!columns.has(hops)) columns.set(hops, element('div', undefined, 'column'));
    columns.get(hops).append(box(process, process.processes ?? 1));
  }
  section.replaceChildren(summary(message, ended));
  [...columns.keys()].sort((a, b) => a - b).forEach((hops, i) => {
    if (i) section.append(element('span', '→', 'arrow'));
    section.append(columns.get(hops));
  });
}
