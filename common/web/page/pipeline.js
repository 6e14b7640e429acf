// The pipeline as the source tells it: a box for each stage, in the order of the stream.

function element(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

const percent = (share) => `${Math.round(100 * share)} %`;

function box(process, count) {
  const e = element('div', undefined, process.bottleneck ? 'stage slowest' : 'stage');
  e.append(element('b', process.stage.replace(/^bragg-/, '') + (count > 1 ? ` × ${count}` : '')));
  e.append(element('small', `${process.frames} frames, holds ${process.held}`));
  if (process.compute === undefined) return e;
  const meter = element('meter');
  meter.value = process.compute;
  meter.setAttribute('aria-label', `${process.stage} computes`);
  e.append(meter, element('small', `busy ${percent(process.compute)}, ${process.cpus.toFixed(2)} cores`));
  e.append(element('small', `waits ${percent(process.wait_in)} in, ${percent(process.wait_out)} out`));
  if (process.bottleneck) e.append(element('small', 'bottleneck'));
  return e;
}

function summary({run, fenced, givenUp}) {
  const total = run.total === null ? '' : ` of ${run.total}`;
  const e = element('div', undefined, 'stage');
  e.append(element('b', `${run.frames_s.toFixed(1)} frames/s`));
  e.append(element('small', `${run.acknowledged}${total} done`));
  if (run.left_s !== null) e.append(element('small', `${Math.ceil(run.left_s)} s left`));
  if (run.ended !== undefined) e.append(element('small', `ended with status ${run.ended}`));
  for (const f of fenced.slice(-3)) e.append(element('small', `process ${f.pid} ${f.reason} ${Math.round(f.ago_s)} s ago`));
  if (fenced.length) e.append(element('small', `${fenced.length} taken out, others went on`));
  if (givenUp) e.append(element('small', `frame ${givenUp - 1} was given up`));
  return e;
}

// Shows what came in `section`.
export function showPipeline(section, message) {
  const columns = new Map();
  for (const process of message.run.processes) {
    const hops = process.hops;
    if (!columns.has(hops)) columns.set(hops, element('div', undefined, 'column'));
    columns.get(hops).append(box(process, process.processes ?? 1));
  }
  section.replaceChildren(summary(message));
  [...columns.keys()].sort((a, b) => a - b).forEach((hops, i) => {
    if (i) section.append(element('span', '→', 'arrow'));
    section.append(columns.get(hops));
  });
}
