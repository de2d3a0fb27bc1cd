import { launchBrowser } from '../../test/e2e/harness/chromium.ts';
import { machine, median, printTable } from '../harness/figures.ts';
import { optionsOf } from '../harness/options.ts';
import { firstLoad } from './first-load.ts';
import { lists } from './lists.ts';
import { openHour } from './open-hour.ts';

const usage = `How quick the dashboard is in Chromium, and how much memory a page takes that stays open.
  --only load,lists,hour   the parts to measure
  --loads 7                cold loads of the home page
  --rows 10000             assets, and events, of the lists
  --minutes 60             how long the page of a live stream is open`;
const options = optionsOf(usage, { only: 'load,lists,hour', loads: 7, rows: 10_000, minutes: 60 });
const parts = options.only.split(',');
const rows: [what: string, value: string, limit: string][] = [];
const whole = (value: number) => value.toFixed(0);
const mb = (value: number) => (value / 1e6).toFixed(1);

const browser = await launchBrowser();
if (parts.includes('load')) {
  const { painted, interactive, bytes, answers } = await firstLoad(browser, { loads: options.loads });
  const both = (values: readonly number[]) => `${whole(median(values))} (${whole(Math.min(...values))})`;
  rows.push([`first contentful paint, ms, median (least) of ${painted.length}`, both(painted), '500']);
  rows.push(['interactive, ms, median (least)', both(interactive), '1000']);
  rows.push([`gzip of ${answers} answers, KB, without hls.js`, (bytes / 1000).toFixed(1), '150']);
}
if (parts.includes('lists')) {
  for (const { what, longest, longestThread } of await lists(browser, { rows: options.rows }))
    rows.push([
      `${what}: longest task, ms (of its thread)`,
      `${whole(longest)} (${whole(longestThread)})`,
      '100',
    ]);
}
if (parts.includes('hour')) {
  const { first, last, minutes } = await openHour({ minutes: options.minutes });
  rows.push([`heap after ${minutes} min more than after 1, MB`, mb(last.heap - first.heap), '30']);
  rows.push([
    'heap and what it holds outside, MB',
    mb(last.heap + last.outside - first.heap - first.outside),
    '30',
  ]);
  rows.push(['process of the tab, MB', mb(last.process - first.process), '30']);
}
await browser.close();
printTable(['', 'measured', 'limit'], rows);
console.log(`\n${machine()}`);
process.exit(0);
