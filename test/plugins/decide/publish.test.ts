import { describe, expect, it } from 'vitest';
import { allPlugins, anotherAccount } from '../../kit/all-plugins.ts';
import { world } from '../../kit/world.ts';
import { counts, deciding, fail, hang, undecided, view } from './kit.ts';

const shipped = await allPlugins();

describe('a plugin that decides about broadcasts', () => {
  it('refuses one with a reason for the encoder; others begin', async () => {
    const { plugin, asked } = deciding('gate', {
      publish: ({ name }) => (name === 'No' ? { refuse: 'Not\nbefore noon.' } : undefined),
    });
    await using w = await world({ plugins: [...shipped, plugin] });
    const no = await w.given.stream({ name: 'No', record: true });
    const yes = await w.given.stream({ name: 'Yes', userTags: { plan: 'gold' } });
    const { answer } = await w.media.publish(no.streamKey);
    expect(answer).toEqual({ granted: false, reason: 'rejected', message: 'Not before noon.' });
    expect((await w.media.publish(yes.streamKey)).answer.granted).toBe(true);
    await w.settle();

    expect((await w.request('GET', `/api/stream/${no.id}`)).body).toMatchObject({ isActive: false });
    expect((await w.request('GET', `/api/stream/${no.id}/sessions`)).body).toEqual([]);
    expect(asked.publish).toMatchObject([
      { streamId: no.id, account: no.userId, name: 'No', fields: { record: true } },
      { streamId: yes.id, name: 'Yes', userTags: { plan: 'gold' }, fields: { record: false } },
    ]);
    expect(asked.publish[1]).toMatchObject({ app: 'live', address: '127.0.0.1', isPush: false });
    const line = w.lines.find((one) => one.includes('refused a broadcast'));
    expect(JSON.parse(line ?? '')).toMatchObject({
      ...{ level: 'info', streamId: no.id, by: 'gate', reason: 'Not before noon.' },
    });
    expect(await counts(w)).toMatchObject({ 'gate publish allowed': 1, 'gate publish refused': 1 });
  });

  it('learns neither keys nor URLs of targets, and no log has them', async () => {
    const { plugin, asked } = deciding('gate', { publish: () => ({ refuse: 'No.' }) });
    await using w = await world({ plugins: [...shipped, plugin] });
    const targets = [{ profile: 'source', spec: { url: 'rtmp://push.example.com/live/their-key' } }];
    const { streamKey } = await w.given.stream({ multistream: { targets } });
    await w.media.publish(streamKey);
    expect(asked.publish).toHaveLength(1);
    for (const text of [JSON.stringify(asked.publish), w.lines.join('\n')]) {
      expect(text).not.toContain(streamKey);
      expect(text).not.toContain('their-key');
    }
  });

  it('is asked for each connection of a session, and not about a stream that is suspended or unknown', async () => {
    let isOpen = true;
    const { plugin, asked } = deciding('gate', {
      publish: () => (isOpen ? undefined : { refuse: 'Closed.' }),
    });
    await using w = await world({ plugins: [...shipped, plugin] });
    const stream = await w.given.stream();
    const first = await w.given.broadcast(stream);
    first.end({ clean: false });
    await w.settle();
    isOpen = false;
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({ message: 'Closed.' });
    isOpen = true;
    const again = await w.media.publish(stream.streamKey);
    expect(again.grant.sessionId).toBe(first.grant.sessionId);
    expect(asked.publish).toHaveLength(3);

    await w.request('PATCH', `/api/stream/${stream.id}`, { body: { suspended: true } });
    expect((await w.media.publish(stream.streamKey)).answer).toMatchObject({
      message: 'This stream is suspended.',
    });
    expect((await w.media.publish('no-such-key')).answer).toMatchObject({ reason: 'unauthorized' });
    expect(asked.publish).toHaveLength(3);
  });

  it('that hangs refuses at the time limit, and holds up nobody else', async () => {
    const hanging = { account: '' };
    const { plugin } = deciding('gate', {
      publish: ({ account }) => (account === hanging.account ? hang() : undefined),
    });
    await using w = await world({
      plugins: [...shipped, plugin],
      decisions: { timeout: 500, onError: 'refuse' },
    });
    const other = await anotherAccount(w);
    hanging.account = other.id;
    const body = { name: 'Theirs' };
    const theirs = (await w.request('POST', '/api/stream', { key: other.key, body })).body;
    const waiting = w.media.publish(theirs.streamKey).then(({ answer }) => answer);
    let isAnswered = false;
    void waiting.then(() => {
      isAnswered = true;
    });
    await w.given.broadcast(await w.given.stream());
    await w.advance('499ms');
    expect(isAnswered).toBe(false);
    await w.advance('1ms');
    expect(await waiting).toEqual({ granted: false, reason: 'unavailable', message: undecided });
    expect((await w.request('GET', `/api/stream/${theirs.id}`, { key: other.key })).body.isActive).toBe(
      false,
    );
  });

  it('that fails is reported to operators for as long as it does, and logged once a minute', async () => {
    let isBroken = true;
    const { plugin } = deciding('gate', { publish: () => (isBroken ? fail() : undefined) });
    await using w = await world({ plugins: [...shipped, plugin] });
    const { streamKey } = await w.given.stream();
    const issues = async () => (await view(w, '/health/ready')).body.issues;
    const errors = () =>
      w.lines.filter((line) => line.includes('failed to decide')).map((line) => JSON.parse(line));
    expect(await issues()).toBeUndefined();
    for (let times = 0; times < 5; times += 1) {
      const { answer } = await w.media.publish(streamKey);
      expect(answer).toEqual({ granted: false, reason: 'unavailable', message: undecided });
    }
    expect(await issues()).toEqual([
      'The plugin gate fails to decide about broadcasts: they are refused. The log says why.',
    ]);
    expect(errors()).toMatchObject([
      { level: 'error', plugin: 'gate', kind: 'publish', countsAs: 'refuse', failures: 1 },
    ]);
    expect(errors()[0].error).toContain('the decider is broken');
    await w.advance('1m');
    expect(await issues()).toBeUndefined();
    await w.media.publish(streamKey);
    expect(errors()[1]).toMatchObject({ failures: 5 });
    isBroken = false;
    expect((await w.media.publish(streamKey)).answer.granted).toBe(true);
    expect(await counts(w)).toMatchObject({ 'gate publish failed': 6, 'gate publish allowed': 1 });
  });
});

describe('what a failure counts as', () => {
  it.each([
    [{ timeout: 3000, onError: 'allow' as const }, true],
    [{ timeout: 3000, onError: 'refuse' as const, plugins: { gate: 'allow' as const } }, true],
    [{ timeout: 3000, onError: 'allow' as const, plugins: { gate: 'refuse' as const } }, false],
    [undefined, false],
  ])('is %j: granted is %j', async (decisions, granted) => {
    const { plugin } = deciding('gate', { publish: fail });
    await using w = await world({ plugins: [...shipped, plugin], ...(decisions && { decisions }) });
    expect((await w.media.publish((await w.given.stream()).streamKey)).answer.granted).toBe(granted);
    const [issue] = (await view(w, '/health/ready')).body.issues;
    expect(issue).toContain(granted ? 'they are allowed without it' : 'they are refused');
  });

  it('of one plugin leaves the refusals of others as they are', async () => {
    const plugins = [
      deciding('broken', { publish: fail }).plugin,
      deciding('strict', { publish: () => ({ refuse: 'Too late.' }) }).plugin,
      deciding('stricter', { publish: async () => ({ refuse: 'Never.' }) }).plugin,
    ];
    await using w = await world({ plugins: [...shipped, ...plugins] });
    const { answer } = await w.media.publish((await w.given.stream()).streamKey);
    expect(answer).toEqual({ granted: false, reason: 'rejected', message: 'Too late.' });
  });

  it('is said of plugins that decide, and of no others', async () => {
    const { plugin } = deciding('gate', { publish: () => undefined });
    const start = (plugins: Record<string, 'allow'>) =>
      world({ plugins: [...shipped, plugin], decisions: { timeout: 3000, onError: 'refuse', plugins } });
    await expect(start({ gat: 'allow' })).rejects.toMatchObject({
      code: 'boot.invalid',
      problems: [
        'decisions.plugins.gat: no enabled plugin of this id decides anything; those that do are protection, gate',
      ],
    });
    await (await start({ gate: 'allow' }))[Symbol.asyncDispose]();
  });
});

it('a decider of a kind that nobody asks keeps the program from starting', async () => {
  const { plugin } = deciding('gate', {});
  const wrong = { ...plugin, decides: { plays: fail, upload: 7 } as never };
  await expect(world({ plugins: [...shipped, wrong] })).rejects.toMatchObject({
    problems: [
      'plugin gate: decides plays, which nobody asks; expected publish, play, upload, export, delivery; did you mean play?',
      'plugin gate: decides.upload must be a function',
    ],
  });
});
