/** What pages ask of one node and another one knows. */
import { describe, expect, it } from 'vitest';
import { fleet } from '../../kit/fleet.ts';
import { plugins, three } from './kit.ts';

describe('a page at one node', () => {
  it('signs in with a code of another node, once among all', async () => {
    await using f = await fleet({ plugins });
    const { a } = await three(f);
    const b = await f.start('b', { roles: ['api'] });
    const { code } = (await a.request('POST', '/api/sign-in-code')).body;
    const answers = await Promise.all(
      [b, a].map((node) => node.request('POST', '/api/sign-in', { body: { code } })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 403]);
    const key = answers.find(({ status }) => status === 200)?.body.key;
    for (const node of [a, b])
      expect((await node.request('GET', '/api/api-token/current', { key })).body.name).toBe('Dashboard');
  });

  it('shows what other nodes refused, without those that cannot be reached', async () => {
    await using f = await fleet({ plugins });
    const { a, m, n } = await three(f);
    await m.media.publish('no-such-key-at-m');
    // By then the nodes have heard of each other.
    await f.advance('12s');
    await n.media.publish('no-such-key-at-n');
    const keys = async () => {
      const { status, body } = await a.request('GET', '/api/ingest/refused');
      expect(status).toBe(200);
      return body.map(({ key }: { key: string }) => key);
    };
    expect(await keys()).toEqual(['••••at-n', '••••at-m']);
    m.cut();
    expect(await keys()).toEqual(['••••at-n']);
  });
});
