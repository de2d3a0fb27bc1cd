import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { anotherAccount } from '../../kit/all-plugins.ts';
import { broken, worldWith } from '../broken/kit.ts';

describe('GET /api/system', () => {
  it('says what runs, since when, and on which nodes', async () => {
    const config = [{ key: 'http.port', value: 8080, source: 'default', isSecret: false }] as const;
    await using w = await worldWith([], { about: { config: () => config, off: ['views'] } });
    const startedAt = w.now();
    await w.advance('1m');
    const { status, body } = await w.request('GET', '/api/system');
    expect(status).toBe(200);
    const roles = ['api', 'media', 'actors', 'worker'];
    expect(body).toMatchObject({
      ...{ version: packageJson.version, startedAt, node: { id: 'local', roles }, config, issues: [] },
      nodes: [{ id: 'local', roles, isAlive: true, seenAt: expect.any(Number) }],
    });
    expect(body.plugins).toContainEqual({
      ...{ id: 'accounts', summary: 'accounts and API keys', state: 'on', startMs: expect.any(Number) },
    });
    expect(body.plugins.at(-1)).toEqual({ id: 'views', state: 'off' });
  });

  it('names plugins that failed, and those that need them, with the issues of /health/ready', async () => {
    const start = () => {
      throw new Error('no, with the password hunter2');
    };
    await using w = await worldWith([broken({ start })]);
    const { body } = await w.request('GET', '/api/system');
    expect(body.plugins.at(-1)).toEqual({
      ...{ id: 'broken', summary: 'is broken', state: 'failed', startMs: 0 },
      error: 'it could not be started',
    });
    const ready = await w.request('GET', '/health/ready', { key: null });
    expect(body.issues).toEqual(ready.body.issues);
    expect(body.issues[0]).toContain('broken');
    expect(JSON.stringify(body)).not.toContain('hunter2');
  });

  it('is for keys of the admin account alone', async () => {
    await using w = await worldWith([]);
    const { key } = await anotherAccount(w);
    const refused = await w.request('GET', '/api/system', { key });
    expect([refused.status, refused.body.code]).toEqual([403, 'auth.not_allowed']);
    expect((await w.request('GET', '/api/system', { key: null })).status).toBe(401);
  });
});
