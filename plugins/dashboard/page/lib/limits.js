import { bytes, count } from './format.js';

/** What accounts are limited in: title, and what a number in a form stands for. Those of later servers have their name as title. */
const facts = {
  streams: { title: 'Streams' },
  assets: { title: 'Assets' },
  storedBytes: { title: 'Stored', unit: 'GB', by: 1e9 },
  broadcasts: { title: 'Broadcasts', hint: 'at one time' },
  liveBytes: { title: 'Live memory', hint: 'on one node', unit: 'MB', by: 1e6 },
  encodingSeconds: { title: 'Encoding', hint: 'this calendar month', unit: 'hours', by: 3600 },
  webhooks: { title: 'Webhooks' },
  webhookAttempts: { title: 'Webhook attempts', hint: 'a minute to one host' },
};

/** In the place of what is not known yet. */
export const unknownUsage = Object.fromEntries(Object.keys(facts).map((name) => [name, {}]));

export const usageFacts = (name) => facts[name] ?? { title: name };

const hours = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** `4.1 GB`, `12.5 hours`, `10,000`. */
export function amountOf(name, value) {
  if (value === undefined) return '–';
  if (name.endsWith('Bytes')) return bytes(value);
  if (name.endsWith('Seconds')) return `${hours.format(value / 3600)} ${value === 3600 ? 'hour' : 'hours'}`;
  return count(value);
}

/** The same of a limit, of which there may be none. */
export const limitText = (name, limit) => (limit === null ? 'none' : amountOf(name, limit));
