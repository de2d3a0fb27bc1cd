import { useEffect, useRef } from 'preact/hooks';
import { serverNow } from './clock.js';
import { clockTime } from './format.js';
import { html } from './html.js';

/** Between two points, s: one that comes later leaves a gap. */
const longestStep = 12;
/** Shortest time that plots show, s. */
const shortest = 60;
const height = 104;
/** Of the time axis below the last one. */
const axisHeight = 28;

/**
 * Plots of the same times above each other, with one time axis and one cursor.
 *
 * - `points`: `{time, …}`, epoch ms, oldest first. `measures`: `{title, of(point), text(value), colour}`; `colour` names a token.
 * - `bands`: `[from, to]` in epoch ms, drawn behind them. `marks`: times with a line.
 * - `range`: `[from, to]` in epoch ms; default: all points. `onRange(range)`: a part was chosen by dragging.
 * - `onPick(time)`: a moment was clicked.
 */
export function Plots({ measures, ...rest }) {
  const key = useRef(`plots-${crypto.getRandomValues(new Uint32Array(1))[0]}`).current;
  return html`<div class="plots">
    ${measures.map(
      (measure, index) => html`<${Plot}
        key=${measure.title}
        measure=${measure}
        sync=${key}
        isLast=${index === measures.length - 1}
        ...${rest}
      />`,
    )}
  </div>`;
}

function Plot({ measure, sync, isLast, ...given }) {
  const holder = useRef();
  const readout = useRef();
  const plot = useRef();
  // What the plot reads when it draws: it lives longer than one rendering.
  const now = useRef(given);
  now.current = given;
  const last = given.points.at(-1);
  const lastText = last ? measure.text(measure.of(last)) : '–';
  useEffect(() => {
    let isOver = false;
    let end;
    void import('uplot').then(({ default: UPlot }) => {
      if (isOver) return;
      plot.current = new UPlot(
        optionsOf({ measure, sync, isLast, now, readout, width: holder.current.clientWidth }),
        dataOf(measure, now.current),
        holder.current,
      );
      end = follow(holder.current, plot.current);
    });
    return () => {
      isOver = true;
      end?.();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, []);
  useEffect(() => {
    plot.current?.setData(dataOf(measure, given));
    if (plot.current?.cursor.idx == null && readout.current) readout.current.textContent = lastText;
  }, [given.points, given.bands, given.marks, given.range?.[0], given.range?.[1]]);
  return html`<figure class="plot">
    <figcaption><span class="label">${measure.title}</span><output ref=${readout} class="figure">${lastText}</output></figcaption>
    <div ref=${holder} role="img" aria-label=${`${measure.title}, now ${lastText}`}></div>
  </figure>`;
}

function optionsOf({ measure, sync, isLast, now, readout, width }) {
  const colour = (token) => resolved(token);
  const axis = {
    stroke: () => colour('--muted'),
    grid: { stroke: () => colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: height + (isLast ? axisHeight : 0),
    padding: [8, 0, 0, 0],
    legend: { show: false },
    scales: {
      x: { time: true, range: () => rangeOf(now.current).map((time) => time / 1000) },
      y: { range: highest },
    },
    axes: [
      {
        ...axis,
        size: isLast ? axisHeight : 6,
        space: 90,
        values: (_, splits) => splits.map((at) => (isLast ? clockTime(at * 1000) : '')),
      },
      { ...axis, size: 76, space: 36, values: (_, splits) => splits.map((value) => measure.text(value)) },
    ],
    series: [
      {},
      {
        label: measure.title,
        width: 1.5,
        stroke: () => colour(measure.colour),
        fill: () => colour(`${measure.colour}-wash`),
        spanGaps: false,
        points: { show: false },
      },
    ],
    cursor: {
      sync: { key: sync },
      y: false,
      drag: { x: now.current.onRange !== undefined, y: false, setScale: false },
      points: { size: 6 },
    },
    hooks: {
      drawClear: [(u) => drawBehind(u, now.current)],
      setCursor: [(u) => readUnder(u, { measure, readout, now })],
      setSelect: [(u) => choose(u, now)],
      ready: [(u) => u.over.addEventListener('click', () => pick(u, now))],
    },
  };
}

/** From 0, with room above. */
function highest(_, __, max) {
  return [0, max > 0 ? max * 1.15 : 1];
}

function rangeOf({ points, range }) {
  if (range) return range;
  const to = points.at(-1)?.time ?? serverNow();
  return [Math.min(points[0]?.time ?? to, to - shortest * 1000), to];
}

/** With a hole where points are missing. */
function dataOf({ of }, { points }) {
  const times = [];
  const values = [];
  for (const point of points) {
    const time = point.time / 1000;
    if (times.length > 0 && time - times.at(-1) > longestStep) {
      times.push(times.at(-1) + 1);
      values.push(null);
    }
    times.push(time);
    values.push(of(point) ?? null);
  }
  return [times, values];
}

function drawBehind(u, { bands = [], marks = [] }) {
  const { ctx, bbox } = u;
  const at = (time) => u.valToPos(time / 1000, 'x', true);
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.fillStyle = resolved('--issue-wash');
  for (const [from, to] of bands)
    ctx.fillRect(at(from), bbox.top, Math.max(2, at(to) - at(from)), bbox.height);
  ctx.fillStyle = resolved('--accent');
  for (const time of marks) ctx.fillRect(at(time), bbox.top, 2, bbox.height);
  ctx.restore();
}

function readUnder(u, { measure, readout, now }) {
  const { idx } = u.cursor;
  if (!readout.current) return;
  const point = idx == null ? now.current.points.at(-1) : nearest(now.current.points, u.data[0][idx] * 1000);
  if (!point) return;
  const text = measure.text(measure.of(point));
  readout.current.textContent = idx == null ? text : `${clockTime(point.time)} · ${text}`;
}

function nearest(points, time) {
  return points.find((point) => point.time >= time) ?? points.at(-1);
}

function choose(u, now) {
  const { left, width } = u.select;
  if (width < 8 || !now.current.onRange) return;
  now.current.onRange([u.posToVal(left, 'x') * 1000, u.posToVal(left + width, 'x') * 1000]);
  u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

function pick(u, now) {
  if (u.cursor.left >= 0) now.current.onPick?.(u.posToVal(u.cursor.left, 'x') * 1000);
}

/** Plots follow the width of their place, and light and dark. */
function follow(holder, plot) {
  const sizes = new ResizeObserver(() => {
    if (holder.clientWidth > 0 && holder.clientWidth !== plot.width)
      plot.setSize({ width: holder.clientWidth, height: plot.height });
  });
  sizes.observe(holder);
  const redraw = () => plot.redraw();
  const dark = matchMedia('(prefers-color-scheme: dark)');
  dark.addEventListener('change', redraw);
  const theme = new MutationObserver(redraw);
  theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => {
    sizes.disconnect();
    theme.disconnect();
    dark.removeEventListener('change', redraw);
  };
}

let probe;

/** What a token is as a colour in the theme of now: a canvas does not know tokens. */
function resolved(token) {
  if (!probe) {
    probe = document.createElement('i');
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(${token})`;
  return getComputedStyle(probe).color;
}

/** Stretches of time with an issue: `{from, to, text}`, epoch ms, by when they began. `step` is the time that a point stands for. */
export function issueSpans(points, step = 5000) {
  const open = new Map();
  const spans = [];
  for (const { time, issues } of points) {
    for (const text of issues) {
      const span = open.get(text);
      if (span && time - span.to <= step * 2) span.to = time + step;
      else {
        const begun = { from: time, to: time + step, text };
        open.set(text, begun);
        spans.push(begun);
      }
    }
  }
  return spans;
}
