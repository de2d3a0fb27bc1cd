/** Who may watch, as the dashboard shows and changes it. */
import { describe, expect, it } from 'vitest';
import { allPlugins } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';

const { draftOf, policyOf, policySentence, problemsByField } = await import(
  '../../../plugins/dashboard/page/lib/policy.js' as string
);

const policies = [
  { type: 'public' },
  { type: 'signed', allowedOrigins: ['https://a.example', 'https://*.b.example'], allowNoOrigin: true },
  { type: 'signed', cidrs: ['192.0.2.0/24'] },
  { type: 'webhook', webhookUrl: 'https://a.example/may-play', onError: 'allow' },
];

describe('a policy in the dashboard', () => {
  it('is what its form shows, and what the API takes', async () => {
    await using w = await world({ plugins: await allPlugins() });
    for (const policy of policies) {
      expect(policyOf(draftOf(policy))).toEqual(policy);
      const body = { name: 'Board meeting', playbackPolicy: policyOf(draftOf(policy)) };
      const { body: stream } = await w.request('POST', '/api/stream', { body });
      expect(stream.playbackPolicy).toEqual(policy);
      const patch = { body: { playbackPolicy: policyOf(draftOf()) } };
      await w.request('PATCH', `/api/stream/${stream.id}`, patch);
      const { body: after } = await w.request('GET', `/api/stream/${stream.id}`);
      expect(after.playbackPolicy).toBeUndefined();
    }
  });

  it('takes one entry a line', () => {
    const draft = {
      ...draftOf({ type: 'signed' }),
      origins: 'https://a.example\n\n https://b.example',
      countries: 'de, fr',
    };
    expect(policyOf(draft)).toEqual({
      ...{ type: 'signed', allowedOrigins: ['https://a.example', 'https://b.example'] },
      countries: ['DE', 'FR'],
    });
  });

  it('shows what the API refuses beside its field', async () => {
    await using w = await world({ plugins: await allPlugins() });
    const playbackPolicy = {
      ...{ type: 'webhook', allowedOrigins: ['https://a.example', 'nonsense'], countries: ['DE'] },
      ...{ cidrs: ['everywhere'], webhookUrl: 'ftp://a.example' },
    };
    const { status, body } = await w.request('POST', '/api/stream', { body: { name: 'x', playbackPolicy } });
    expect(status).toBe(422);
    const found = problemsByField(body.errors);
    expect(Object.keys(found).sort()).toEqual(['allowedOrigins', 'cidrs', 'countries', 'webhookUrl']);
    expect(found.allowedOrigins).toMatch(/^Line 2: expected an origin/);
    expect(problemsByField(['The server is busy.'])).toEqual({ '': 'The server is busy.' });
  });

  it('is one sentence', () => {
    expect(policySentence(undefined)).toBe('As the account or the deployment says.');
    expect(policySentence({ type: 'public', countries: ['DE'] })).toBe(
      'Everybody who knows the URL may watch from the countries DE.',
    );
    expect(policySentence({ type: 'signed' })).toBe('Viewers need a token of one of your signing keys.');
    expect(policySentence({ type: 'webhook', webhookUrl: 'https://a.example', onError: 'allow' })).toBe(
      'https://a.example is asked about each viewer. While it does not answer, viewers are let in.',
    );
  });

  it('is known to the pages while its plugin is on', async () => {
    const plugins = await allPlugins();
    const fieldsOf = async (enabled: typeof plugins) => {
      await using w = await world({ plugins: enabled });
      return (await w.request('GET', '/dashboard/extensions.json', { key: null })).body.fields;
    };
    const on = await fieldsOf(plugins);
    for (const kind of ['stream', 'asset', 'account']) expect(on[kind]).toContain('playbackPolicy');
    expect(on.account).toContain('limits');
    const off = await fieldsOf(plugins.filter(({ id }) => id !== 'protection' && id !== 'limits'));
    expect([off.stream.includes('playbackPolicy'), off.account]).toEqual([false, []]);
  });
});
