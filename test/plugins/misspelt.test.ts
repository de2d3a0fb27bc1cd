import { expect, it } from 'vitest';
import { target } from '../../runtime/drivers/outbound/target.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { world } from '../kit/world.ts';

const filters = (...list: object[]) => `/api/stream?filters=${encodeURIComponent(JSON.stringify(list))}`;
const hook = { name: 'hook', url: 'https://example.com/hook', events: ['stream.started'] };
const far = (url: string) => ({
  name: 'a',
  multistream: { targets: [{ profile: 'source', spec: { url } }] },
});

it('what is misspelt in a request is refused with what was probably meant', async () => {
  await using w = await world({ plugins: await allPlugins() });
  const cases: [method: string, path: string, body: object | undefined, status: number, hint: string][] = [
    ['POST', '/api/stream', { name: 'a', recrod: true }, 422, 'recrod: unknown field; did you mean record?'],
    ['POST', '/api/webhook', { ...hook, event: [] }, 422, 'event: unknown field; did you mean events?'],
    ['GET', '/api/stream?limt=5', undefined, 422, 'limt: unknown parameter; did you mean limit?'],
    ['GET', '/api/stream?sessiononly=1', undefined, 422, 'did you mean sessionsonly?'],
    ['GET', '/api/stream?order=createdat-true', undefined, 422, 'did you mean createdAt?'],
    ['GET', filters({ id: 'isActiv', value: true }), undefined, 422, 'did you mean isActive?'],
    ['GET', filters({ id: 'isActive', vaule: true }), undefined, 422, 'did you mean value?'],
    [
      'POST',
      '/api/webhook',
      { ...hook, events: ['stream.start', 'recordng.ready'] },
      422,
      '"recordng.ready" (did you mean recording.ready?)',
    ],
    ['POST', '/api/webhook', { ...hook, url: 'htpp://example.com' }, 422, 'did you mean http?'],
    ['POST', '/api/stream', far('rmtp://example.com/live/key'), 422, 'did you mean rtmp?'],
    ['GET', '/api/events?type=stream.strated', undefined, 422, 'did you mean stream.started?'],
    ['GET', '/api/streams', undefined, 404, 'Did you mean /api/stream?'],
    ['GET', '/api/assets/some-id', undefined, 404, 'Did you mean /api/asset/some-id?'],
    ['GET', '/webhook', undefined, 404, 'Did you mean /api/webhook?'],
  ];
  for (const [method, path, body, status, hint] of cases) {
    const answer = await w.request(method, path, { body });
    expect([path, answer.status, answer.body.errors.join()]).toEqual([
      path,
      status,
      expect.stringContaining(hint),
    ]);
  }
});

it('what is like nothing we know is refused or ignored as before, without a hint', async () => {
  await using w = await world({ plugins: await allPlugins() });
  expect((await w.request('GET', '/api/stream?_=1700000000&utm_source=x')).status).toBe(200);
  const field = await w.request('POST', '/api/stream', { body: { name: 'a', colour: 'red' } });
  expect(field).toMatchObject({ status: 422, body: { errors: ['colour: unknown field'] } });
  // What looks like a secret is masked in every error, and a hint of `***` says nothing.
  for (const nothing of ['/favicon.ico', `/api/streams/${'k3Y_'.repeat(8)}`]) {
    const path = await w.request('GET', nothing);
    expect(path).toMatchObject({ status: 404, body: { errors: ['There is no route at this path.'] } });
  }
});

it('a misspelt scheme of what the server is to call is named, nothing else of the URL', () => {
  expect(target('htpps://example.com/film.mp4?secret')).toMatchObject({
    ok: false,
    message: 'expected an http or https URL, not htpps:; did you mean https?',
  });
});
