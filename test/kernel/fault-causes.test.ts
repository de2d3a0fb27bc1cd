import { Elysia } from 'elysia';
import { expect, it } from 'vitest';
import { Fault } from '../../core/base/fault.ts';
import { jsonLog } from '../../core/base/log.ts';
import { causeWindow, FaultCauses } from '../../core/http/fault-causes.ts';
import { httpCore } from '../../core/http/http.ts';
import { openly } from '../../core/http/public-access.ts';
import { asTus } from '../../plugins/assets/tus/protocol.ts';
import { virtualClock } from '../kit/virtual-clock.ts';

/** Whatever is asked for throws that. */
function server(thrown: () => unknown) {
  const clock = virtualClock({ start: 0 });
  const lines: Record<string, unknown>[] = [];
  const log = jsonLog({
    ...{ level: 'debug', now: () => clock.now() },
    write: (line) => void lines.push(JSON.parse(line)),
  });
  const fail = (): never => {
    throw thrown();
  };
  const routes = new Elysia()
    .get('/plain/:id', fail)
    .get('/open/:id', () => openly(fail))
    .head('/tus/:id', () => asTus('HEAD', async () => fail()));
  const app = httpCore({ log, routes: [routes], causes: new FaultCauses({ clock, log }) });
  const ask = async (path: string, method = 'GET') =>
    (await app.handle(new Request(`http://localhost${path}`, { method }))) as Response;
  return { clock, lines, ask };
}

const away = (cause: unknown, code = 'store.unreachable') =>
  new Fault(code, { status: 503, message: 'The store does not answer.', retryAfter: 1, cause });

it.each([
  ['GET', '/plain/abc', 503],
  ['GET', '/open/abc', 503],
  ['HEAD', '/tus/abc', 423],
])('the log tells why %s %s could not be answered, the answer does not', async (method, path, status) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.1.2.3:6379'), { code: 'ECONNREFUSED' });
  const { lines, ask } = server(() => away(new Error('no connection', { cause: refused })));
  const answer = await ask(path, method);
  expect(answer.status).toBe(status);
  expect(await answer.text()).not.toContain('10.1.2.3');
  expect(lines).toEqual([
    {
      ...{ time: '1970-01-01T00:00:00.000Z', level: 'warn', message: 'a request could not be answered' },
      ...{ method, route: path.replace('abc', ':id'), status: 503, code: 'store.unreachable' },
      fault: 'The store does not answer.',
      cause: 'Error: no connection, because of Error: connect ECONNREFUSED 10.1.2.3:6379',
    },
  ]);
});

it('once for each code in a while; what had no line is counted', async () => {
  let code = 'store.unreachable';
  const { clock, lines, ask } = server(() => away(new Error('away'), code));
  for (let n = 0; n < 1000; n += 1) await ask('/plain/a');
  code = 'blobs.unavailable';
  await ask('/open/a');
  expect(lines.map((line) => [line.code, line.unsaid])).toEqual([
    ['store.unreachable', undefined],
    ['blobs.unavailable', undefined],
  ]);
  code = 'store.unreachable';
  await clock.advance(causeWindow);
  await ask('/plain/a');
  expect(lines[2]).toMatchObject({ code, unsaid: 999 });
  await clock.advance(causeWindow);
  await ask('/plain/a');
  expect(lines[3]).not.toHaveProperty('unsaid');
});

it('not of what is no trouble of ours, nor where nothing is known', async () => {
  for (const fault of [
    new Fault('asset.not_found', { status: 404, message: 'No such asset.', cause: new Error('x') }),
    new Fault('stream.busy', { status: 503, message: 'Try again.' }),
  ]) {
    const { lines, ask } = server(() => fault);
    await ask('/plain/a');
    await ask('/open/a');
    expect(lines).toEqual([]);
  }
});

it.each<[string, unknown, string]>([
  ['secrets', new Error(`rtmp://a/b/c refused key ${'k3'.repeat(15)}`), 'Error: rtmp://*** refused key ***'],
  ['fields of what is no error', { password: 'hunter2' }, 'object'],
  ['text', 'the disk says EIO', 'the disk says EIO'],
  [
    'errors of each address',
    new AggregateError([new Error('connect ECONNREFUSED ::1'), new Error('connect ETIMEDOUT 1.2.3.4')], ''),
    'AggregateError: Error: connect ECONNREFUSED ::1; Error: connect ETIMEDOUT 1.2.3.4',
  ],
  ['long text', new Error('long '.repeat(1000)), `Error: ${'long '.repeat(1000)}`.slice(0, 1000)],
])('tells of %s what may be told', async (_, cause, told) => {
  const { lines, ask } = server(() => away(cause));
  await ask('/plain/a');
  expect(lines[0].cause).toBe(told);
});

it('also of causes that are each the cause of the other', async () => {
  const [one, other] = [new AggregateError([], ''), new AggregateError([], '')];
  Object.assign(one, { cause: other, errors: [other] });
  Object.assign(other, { cause: one, errors: [one, other] });
  const { lines, ask } = server(() => away(one));
  expect((await ask('/plain/a')).status).toBe(503);
  expect(lines).toHaveLength(1);
});
