import { serverNow } from './clock.js';

/** Figures and times as the reader's locale writes them. */
const number = new Intl.NumberFormat();
const oneDigit = new Intl.NumberFormat(undefined, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });

export const count = (value) => (value === undefined ? '–' : number.format(value));

/** Bytes in the units of 10³: `4.1 GB`. */
export function bytes(value) {
  if (value === undefined || value === null) return '–';
  let size = value;
  for (const unit of ['B', 'kB', 'MB', 'GB', 'TB']) {
    if (size < 1000 || unit === 'TB')
      return `${unit === 'B' ? number.format(size) : oneDigit.format(size)} ${unit}`;
    size /= 1000;
  }
}

/** Bits a second: `3.2 Mb/s`. */
export function rate(value) {
  if (!value) return '–';
  return value >= 1e6
    ? `${oneDigit.format(value / 1e6)} Mb/s`
    : `${number.format(Math.round(value / 1e3))} kb/s`;
}

/** Seconds as `1:02:09`. */
export function duration(seconds) {
  if (seconds === undefined || seconds === null || !Number.isFinite(seconds)) return '–';
  const whole = Math.max(0, Math.floor(seconds));
  const two = (value) => String(value).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const rest = `${hours ? two(Math.floor(whole / 60) % 60) : Math.floor(whole / 60)}:${two(whole % 60)}`;
  return hours ? `${hours}:${rest}` : rest;
}

/** Epoch ms as `5 minutes ago`, or a date when it is more than a day away. */
export function moment(at, now = serverNow()) {
  const seconds = Math.round((at - now) / 1000);
  const size = Math.abs(seconds);
  if (size < 60) return relative.format(seconds, 'second');
  if (size < 3600) return relative.format(Math.round(seconds / 60), 'minute');
  if (size < 86_400) return relative.format(Math.round(seconds / 3600), 'hour');
  return dayAndTime.format(at);
}

export const fullMoment = (at) => absolute.format(at);
export const clockTime = (at) => time.format(at);
