import { shortIds } from './format.js';
import { html } from './html.js';

/** How the texts of the API begin (`plugins/health/judge.ts`), and of which kind each issue is. */
const beginnings = [
  ['Key frames are more than', 'keyFrames'],
  ['The video has no key frame', 'keyFrames'],
  ['The bitrate is so high', 'bitrate'],
  ['The bitrate fell', 'upload'],
  ['Media arrives', 'upload'],
  ['Parts of the media are missing', 'upload'],
  ['Not all browsers can play this video', 'videoCodec'],
  ['Not all browsers can play this audio', 'audioCodec'],
  ['The sound is missing', 'noAudio'],
  ['Frames come at irregular times', 'frames'],
  ['There are fewer frames', 'frames'],
  ['There are far more frames', 'frames'],
];
/** Nobody can watch while one of these lasts. */
const worst = [
  'No media arrives',
  'The video has no key frame',
  'The connection of the encoder',
  'The picture is',
];

export const kindOf = (issue) => beginnings.find(([text]) => issue.startsWith(text))?.[1];

export const isBad = (issue) => worst.some((text) => issue.startsWith(text));

/** Worst first. */
export const byWeight = (issues) => [...issues].sort((a, b) => Number(isBad(b)) - Number(isBad(a)));

/** An issue in the API's words, below the `title` of what has it. `encoder`: with the setting of that encoder which removes it. */
export function Issue({ text, title, kind = kindOf(text), encoder, children }) {
  const fix = encoder?.fixes[kind];
  return html`<div class=${isBad(text) ? 'notice bad' : 'notice'}>
    <span class="sign" aria-hidden="true">${isBad(text) ? '✕' : '▲'}</span>
    <div>
      ${title && html`<strong>${title}</strong>`}
      <p>${shortIds(text)} ${children}</p>
      ${fix && html`<p class="fix"><strong>${encoder.title}:</strong> <span>${fix}</span></p>`}
    </div>
  </div>`;
}
