import { expect, it } from 'vitest';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

const plugins = await allPlugins();
const publishWebhook = 'https://hooks.example.com/publish';

/** A server with a publish hook, which answers as `reply` says. */
async function given(reply: () => object, config: Record<string, unknown> = {}) {
  const w = await world({
    plugins,
    config: { protection: { publishWebhook, webhookSecret: 'a secret of 16 bytes', ...config } },
  });
  w.outbound.answer(publishWebhook, reply);
  return w;
}

it('asks the publish hook about each connection of an encoder', async () => {
  let status = 403;
  await using w = await given(() => ({ status }));
  const stream = await w.given.stream();
  const refused = await w.media.publish(stream.streamKey);
  expect(refused.answer).toMatchObject({ granted: false });
  expect(JSON.stringify(refused.answer)).toContain('The publish webhook of this server did not allow it.');
  status = 200;
  const first = await w.media.publish(stream.streamKey);
  expect(first.answer.granted).toBe(true);
  const questions = w.outbound.sent.map(({ request }) => JSON.parse(request.body as string));
  expect(questions).toHaveLength(2);
  expect(questions[0]).toMatchObject({ kind: 'publish', streamId: stream.id, ip: '127.0.0.1', app: 'live' });
  expect(w.outbound.sent[0]?.request.headers).toHaveProperty('webhook-signature');
  // The key of the stream is a secret, and that of the hook too.
  expect(JSON.stringify([w.outbound.sent, w.lines])).not.toContain(stream.streamKey);
  expect(JSON.stringify([w.outbound.sent, w.lines])).not.toContain('a secret of 16 bytes');
});

it.each([
  [{}, false],
  [{ onError: 'allow' }, true],
])('decides by onError while the hook does not answer: %j', async (config, granted) => {
  await using w = await given(() => ({ status: 500 }), config);
  const stream = await w.given.stream();
  expect((await w.media.publish(stream.streamKey)).answer.granted).toBe(granted);
});

it('asks nobody without a hook', async () => {
  await using w = await world({ plugins });
  const stream = await w.given.stream();
  expect((await w.media.publish(stream.streamKey)).answer.granted).toBe(true);
  expect(w.outbound.sent).toEqual([]);
});
