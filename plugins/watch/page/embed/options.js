import { withToken } from '../look-up.js';

/** What the query of the address asks for. What is not understood is left out. */
export function optionsOf(query) {
  const given = new URLSearchParams(query);
  const isOn = (name) => ['', '1', 'true'].includes(given.get(name));
  const start = Number(given.get('start'));
  const color = /^#?([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(given.get('color') ?? '')?.[1];
  const token = given.get('token') ?? '';
  return {
    autoplay: isOn('autoplay'),
    muted: isOn('muted'),
    start: Number.isFinite(start) && start > 0 ? start : 0,
    color: color && `#${color}`,
    token,
    /** A path with the token, for what the browser asks for by itself. */
    sent: withToken(token).url,
  };
}
