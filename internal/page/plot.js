// --- making elements. Text is always text: nothing that comes from the server is ever parsed as markup.

const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) =>
  fill(document.createElementNS('http://www.w3.org/2000/svg', name), attributes, children);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'onclick') element.addEventListener('click', value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat().filter((c) => c !== undefined && c !== null && c !== false));
  return element;
}

const number = new Intl.NumberFormat('en');
const plural = (n, one, many) => `${number.format(n)} ${n === 1 ? one : many}`;
const sum = (series) => series.reduce((a, b) => a + b, 0);

// span is a duration in nanoseconds, in words.
function span(ns) {
  const s = ns / 1e9;
  if (s < 1) return `${Math.max(0, Math.round(s * 1000))} ms`;
  if (s < 9.95) return `${Math.round(s * 10) / 10} s`;
  if (s < 120) return `${Math.round(s)} s`;
  return s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`;
}

// --- plots: bars, one a step, with layers that stand on each other.

// bars draws layers of numbers; each has a class and, if it stands for something bad, holes, so that it is told apart
// without its colour.
function bars(layers, width, height) {
  const steps = layers[0].series.length;
  const totals = layers[0].series.map((_, i) => layers.reduce((n, l) => n + l.series[i], 0));
  const top = Math.max(1, ...totals);
  const step = width / steps;
  const svg = draw('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', 'aria-hidden': 'true' });
  const feet = new Array(steps).fill(0);
  for (const layer of layers) {
    let path = '';
    layer.series.forEach((n, i) => {
      if (n <= 0) return;
      const foot = height - 1 - (feet[i] / top) * (height - 2);
      const tall = Math.max(1, (n / top) * (height - 2));
      const x = i * step + step * 0.1;
      const wide = step * 0.8;
      path += block(x, foot, wide, tall, layer.striped);
      feet[i] += n;
    });
    if (path) svg.append(draw('path', { class: layer.class, d: path }));
  }
  svg.append(draw('line', { class: 'rule', x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }));
  return svg;
}

// block is a bar that stands on foot, in slices if it is striped.
function block(x, foot, wide, tall, striped) {
  const box = (y, h) => `M${x.toFixed(1)} ${y.toFixed(1)}h${wide.toFixed(1)}v${h.toFixed(1)}h${(-wide).toFixed(1)}z`;
  if (!striped) return box(foot - tall, tall);
  let path = '';
  for (let y = 0; y < tall; y += 4) path += box(foot - Math.min(y + 3, tall), Math.min(3, tall - y));
  return path;
}

// figure is a plot with its words.
function figure(title, layers, stepNs) {
  const most = Math.max(...layers[0].series.map((_, i) => layers.reduce((n, l) => n + l.series[i], 0)));
  const minutes = Math.round((layers[0].series.length * stepNs) / 6e10);
  return make('figure', {},
    make('figcaption', {}, make('b', {}, title), ' ', layers.map((l) =>
      make('span', { class: 'key' }, swatch(l), `${number.format(sum(l.series))} ${l.name}`))),
    bars(layers, 600, 72),
    make('div', { class: 'axis' },
      make('span', {}, `${minutes} min ago`),
      make('span', {}, most > 0 ? `most: ${number.format(most)} in ${span(stepNs)}` : 'none'),
      make('span', {}, 'now')));
}

function swatch(layer) {
  return draw('svg', { viewBox: '0 0 11 11', 'aria-hidden': 'true' },
    draw('path', { class: layer.class, d: block(0, 11, 11, 11, layer.striped) }));
}

// meter is a bar of what is used of what there is.
function meter(label, used, of, bad) {
  const share = of > 0 ? Math.min(1, used / of) : used > 0 || bad ? 1 : 0;
  return draw('svg', {
    class: 'bar', viewBox: '0 0 100 8', preserveAspectRatio: 'none', role: 'img', 'aria-label': `${label}: ${used} of ${of}`,
  }, draw('rect', { class: bad ? 'bad' : 'made', width: 100 * share, height: 8 }));
}
