import { useMemo } from 'preact/hooks';
import { clockTime, duration } from '../lib/format.js';
import { html } from '../lib/html.js';
import { measures } from '../lib/measures.js';
import { AsCurl, Empty } from '../lib/parts.js';
import { issueSpans, Plots } from '../lib/plot.js';

/** The last hour of a broadcast, issues behind it. */
export function Health({ stream, points }) {
  const spans = useMemo(() => issueSpans(points), [points]);
  const bands = useMemo(() => spans.map(({ from, to }) => [from, to]), [spans]);
  if (points.length === 0)
    return html`<${Empty} title="Nothing measured yet">
      <p>Bitrate, frame rate and key-frame interval of the last hour appear here while the stream is on the air, and 10 minutes longer.</p>
      <a class="button" href=${`/dashboard/go-live?stream=${stream.id}`}>Set up the encoder</a>
    <//>`;
  return html`<div class="stack">
    <${Plots} points=${points} bands=${bands} measures=${measures} />
    <${Spans} spans=${spans} />
    <${AsCurl} path=${`/api/stream/${stream.id}/health`} />
  </div>`;
}

function Spans({ spans }) {
  if (spans.length === 0) return html`<p class="muted">No issues in this time.</p>`;
  return html`<section class="stack tight">
    <h2>Issues of this time</h2>
    <ul class="lines">
      ${[...spans].reverse().map(
        ({ from, to, text }) => html`<li>
          <span class="mono">${clockTime(from)}</span>
          <span class="muted">for ${duration((to - from) / 1000)}</span>
          <span>${text}</span>
        </li>`,
      )}
    </ul>
  </section>`;
}
