import { Elysia } from 'elysia';
import { expect, it } from 'vitest';
import { jsonLog } from '../../core/base/log.ts';
import { Metrics } from '../../core/base/metrics.ts';
import { httpCore } from '../../core/http/http.ts';
import { RequestCounts } from '../../core/http/request-counts.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

const log = jsonLog({ level: 'error', now: () => 0, write: () => {} });

function server() {
  const clock = virtualClock({ start: 1_000_000 });
  const metrics = new Metrics();
  const counts = new RequestCounts({ metrics, clock });
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.at(clock.now() + ms, resolve));
  const routes = new Elysia()
    .get('/now', () => new Response('now'))
    .get('/later/:ms', async ({ params }) => {
      await wait(Number(params.ms));
      return new Response('later');
    })
    .get('/broken/:ms', async ({ params }) => {
      await wait(Number(params.ms));
      throw new Error('broken');
    });
  return { clock, metrics, app: httpCore({ log, routes: [routes], counts }) };
}

it('counting makes no request wait: what a route knows at once is answered at once', () => {
  const { app, metrics } = server();
  expect(app.fetch(new Request('http://localhost/now'))).toBeInstanceOf(Response);
  expect(metrics.text()).toContain(
    'millrace_http_requests_total{route="/now",method="GET",status="2xx"} 1\n',
  );
});

it('tells how long each of the requests took that are in hand at one time, answered or failed', async () => {
  const { app, clock, metrics } = server();
  const ask = (path: string) => app.fetch(new Request(`http://localhost${path}`));
  const first = ask('/later/3000');
  await clock.advance(1000);
  const answers = [first, ask('/later/500'), ask('/broken/1500'), ask('/nowhere')];
  await clock.advance(5000);
  await Promise.all(answers);
  const sum = 'millrace_http_request_duration_seconds_sum';
  expect(metrics.text()).toContain(`${sum}{route="/later/:ms",method="GET"} 3.5\n`);
  expect(metrics.text()).toContain(`${sum}{route="/broken/:ms",method="GET"} 1.5\n`);
  expect(metrics.text()).toContain(`${sum}{route="none",method="GET"} 0\n`);
});
