import { Type } from '@sinclair/typebox';
import { describe, expect, it } from 'vitest';
import { uuid } from '../../core/ids.ts';
import type { Plugin } from '../../core/plugin.ts';
import { derivationSet, type Field, field, fieldSet } from '../../core/resource.ts';
import multistream from '../../plugins/multistream/index.ts';
import recordings from '../../plugins/recordings/index.ts';
import renditions from '../../plugins/renditions/index.ts';
import stills from '../../plugins/stills/index.ts';
import { answersAtRest } from '../../plugins/streams/at-rest.ts';
import { stream } from '../../plugins/streams/contract.ts';
import { documentOf, rowText, type StreamDocument } from '../../plugins/streams/document.ts';
import type { StreamsKit } from '../../plugins/streams/kit.ts';
import { streamLimits } from '../../plugins/streams/limits.ts';
import { presentLive } from '../../plugins/streams/present.ts';
import { allPlugins } from '../kit/all-plugins.ts';
import { randomOf } from '../kit/random.ts';
import { formerText, streamDocuments } from '../kit/stream-documents.ts';
import { type World, world } from '../kit/world.ts';

const free = (id: string) =>
  ({
    id,
    extends: [field(stream, 'free', { schema: Type.Unknown(), initial: null })],
  }) as unknown as Plugin;
const extending = [recordings, multistream, renditions, free('other')] as unknown as Plugin[];
/** Every choice of them: none, each, each two… */
const choices = extending.reduce<Plugin[][]>(
  (all, plugin) => all.concat(all.map((some) => [...some, plugin])),
  [[]],
);
const account = 'b6a3b6a0-5d3e-4f53-9d52-0a4c7ad2f6a1';

describe.each(choices.map((some) => [some.map(({ id }) => id).join(', ') || 'no plugins', some] as const))(
  'the answer for a stream at rest with %s',
  (_, plugins) => {
    it('is what its document shows, whatever is stored, and only for a stream at rest', () => {
      const { atRest, shown } = waysOf(plugins);
      const document = streamDocuments(randomOf(plugins.length + 1));
      let answers = 0;
      for (let round = 0; round < 500; round += 1) {
        const one = document(uuid(), account);
        const row = { account, body: rowText(one) };
        const former = { account, body: formerText(one) };
        const text = atRest(row);
        expect(text !== undefined, row.body).toBe(isCut(one, plugins));
        expect(atRest(former)).toBeUndefined();
        if (text === undefined) continue;
        answers += 1;
        expect(JSON.parse(text)).toEqual(shown(row));
        expect(shown(row)).toEqual(shown(former));
        // No key is there twice.
        expect(JSON.stringify(JSON.parse(text))).toBe(text);
      }
      expect(answers).toBeGreaterThan(100);
    });
  },
);

describe('what the fields of streams say', () => {
  const document = streamDocuments(randomOf(9));
  const withFree = (value: unknown): StreamDocument => ({
    ...document(uuid(), account),
    ...{ parentId: null, isActive: false, isHeld: false, token: null, incarnation: null },
    ...{ brakedUntil: undefined, fields: { other: { free: value } } },
  });

  it('is asked for once for all streams that have the same, as long as it is remembered', () => {
    let asked = 0;
    const counted = field(stream, 'free', {
      ...{ schema: Type.Unknown(), initial: null },
      issues: (value) => [`${asked++ < 0}${value}`],
    });
    const { atRest } = waysOf([{ id: 'other', extends: [counted] } as unknown as Plugin]);
    const ask = (value: unknown) => {
      const text = atRest({ account, body: rowText(withFree(value)) });
      expect(JSON.parse(text ?? '{}')).toMatchObject({ free: value, issues: [`false${value}`] });
    };
    const most = streamLimits.fieldSets.value;
    for (let round = 0; round < 3; round += 1) ask('first');
    expect(asked).toBe(1);
    for (let other = 0; other < most; other += 1) ask(other);
    expect(asked).toBe(1 + most);
    ask(most - 1);
    expect(asked).toBe(1 + most);
    // The oldest had to go.
    ask('first');
    expect(asked).toBe(2 + most);
    const long = 'x'.repeat(streamLimits.fieldSetLength.value);
    for (let round = 0; round < 2; round += 1) ask(long);
    expect(asked).toBe(4 + most);
  });

  it('is not cut off where a value of a plugin looks like the tags', () => {
    const { atRest } = waysOf([free('other')]);
    const bodyOf = (value: unknown) => ({ account, body: rowText(withFree(value)) });
    expect(atRest(bodyOf({ a: 1, userTags: { b: 2 } }))).toBeUndefined();
    expect(atRest(bodyOf({ a: { b: { c: '}' } }, userTags: 1 }))).toBeUndefined();
    expect(atRest(bodyOf({ a: 1, usertags: {} }))).toBeDefined();
  });
});

it.each([
  ['with a derivation that may tell of all', [{}], undefined],
  ['with one that tells of other fields', [{ only: { free: 1 } }], true],
  ['with one that tells of these', [{ only: { free: null } }], undefined],
  ['with one of what fields do not say', [{ only: { name: 'A' } }], undefined],
  [
    'with several, one of which may tell',
    [{ only: { isActive: true } }, { only: { isActive: false } }],
    undefined,
  ],
])('a stream at rest %s', (_, rules, expected) => {
  const derives = rules.map((rule) => ({ ...rule, resource: stream, schemas: {}, of: () => undefined }));
  const { atRest } = waysOf([{ ...free('other'), derives } as unknown as Plugin]);
  const one = { ...streamDocuments(randomOf(3))(uuid(), account), name: 'A', fields: {} };
  const rests = { parentId: null, isActive: false, isHeld: false, token: null, incarnation: null };
  const body = rowText({ ...one, ...rests, brakedUntil: undefined });
  expect(atRest({ account, body }) !== undefined || undefined).toBe(expected);
});

describe('over HTTP', () => {
  const userTags = { 'a,"fields":{': '","userTags":{', fields: 'x"\\', '}},"userTags"': true, n: -0.5 };
  const settings = { name: '","fields":{"\\ فيلم 🎬', userTags, holdSeconds: 7 };

  it('a row is shown as it was before its order, at rest, on the air and after', async () => {
    await using w = await world({ plugins: await allPlugins() });
    const { id, streamKey } = await w.given.stream(settings);
    await expectSame(w, id);
    expect((await w.request('GET', `/api/stream/${id}`)).body).toMatchObject(settings);
    const publish = await w.given.broadcast({ streamKey });
    await expectSame(w, id);
    await expectSame(w, publish.grant.sessionId);
    publish.end({ clean: true, duration: 12.5, bytes: 130, segments: 6 });
    await w.settle();
    await expectSame(w, id);
    await expectSame(w, publish.grant.sessionId);
    const { body } = await w.request('GET', `/api/stream/${id}`);
    expect(body).toMatchObject({ sourceBytes: 130, sourceSegments: 6, sourceSegmentsDuration: 12.5 });
    expect(body.lastSeen).toBeGreaterThan(0);
  });

  it('a stream shows its fields by the plugins of this start, whatever the last one had', async () => {
    const plugins = await allPlugins();
    await using w = await world({ plugins, durable: true });
    const profiles = [{ name: 'low', width: 320, height: 180, bitrate: 400_000, fps: 0 }];
    const target = (
      await w.request('POST', '/api/multistream/target', { body: { url: 'rtmp://a.example/b' } })
    ).body;
    const multistream = { targets: [{ id: target.id, profile: 'low' }] };
    const { id } = await w.given.stream({ profiles, multistream });
    const shown = async () => (await w.request('GET', `/api/stream/${id}`)).body;
    const before = await shown();
    expect(before).toMatchObject({ profiles, multistream, record: false, issues: [] });

    const but = (...without: string[]) => plugins.filter((plugin) => !without.includes(plugin.id));
    await w.crash({ downFor: '1s', plugins: but('renditions') });
    const { profiles: _, ...rest } = before;
    const unknown = `Multistream target ${target.id} wants the profile "low", which this stream no longer has. Name another.`;
    expect(await shown()).toEqual({ ...rest, issues: [unknown] });
    await w.crash({ downFor: '1s', plugins: but('multistream') });
    expect(await shown()).not.toHaveProperty('multistream');
    await w.crash({ downFor: '1s' });
    expect(await shown()).toEqual(before);
  });
});

/** The answer from its text, as the route has it, and the object that it says. */
function waysOf(plugins: readonly Plugin[]) {
  const kit = {
    ...{ config: { profiles: [], busyKey: 'takeover' }, clock: { now: () => Date.UTC(2026, 2) } },
    deployment: { publicUrl: 'http://localhost' },
  } as unknown as StreamsKit;
  const fields = fieldSet(
    plugins.flatMap(({ id, extends: added = [] }) =>
      added.map((one) => ({ plugin: id, field: one as Field, kit })),
    ),
  );
  const derived = derivationSet(
    [...plugins, stills as unknown as Plugin].flatMap(({ derives = [] }) =>
      derives
        .filter(({ resource }) => resource.kind === stream.kind)
        .map((derivation) => ({ derivation, kit })),
    ),
  );
  return {
    atRest: answersAtRest({ fields, derived }),
    shown: (row: { account: string; body: string }): unknown =>
      JSON.parse(JSON.stringify(presentLive(documentOf(row), { kit, fields, derived }))),
  };
}

/** Whether it is at rest, nothing is told of it, and no value of a plugin looks as if the tags began there. */
function isCut(document: StreamDocument, plugins: readonly Plugin[]): boolean {
  const { parentId, isActive, incarnation, token, brakedUntil = 0, fields } = document;
  if (parentId !== null || isActive || token !== null || incarnation !== null || brakedUntil > 0)
    return false;
  if (plugins.some(({ id }) => id === 'recordings') && fields.recordings?.record === true) return false;
  return !JSON.stringify(fields).includes(',"userTags":');
}

/** A copy of the row under another id, with the text it had before, is shown the same. */
async function expectSame(w: World, id: string): Promise<void> {
  const row = await w.store.resources.get('stream', id);
  if (!row) throw new Error(`there is no row ${id}`);
  const copy = uuid();
  const body = formerText({ ...documentOf(row), id: copy });
  const { account: owner, createdAt, name } = row;
  const rows = [
    { kind: 'stream', id: copy, account: owner, createdAt, name, body, indexes: {}, revision: 0 },
  ];
  expect((await w.store.write({ at: w.now(), rows, events: [] })).outcome).toBe('ok');
  const [now, before] = [id, copy].map((one) => w.request('GET', `/api/stream/${one}`));
  const [shown, former] = [await now, await before];
  expect(shown?.status).toBe(200);
  expect({ ...former?.body, id }).toEqual(shown?.body);
  expect([...(former?.headers ?? [])]).toEqual([...(shown?.headers ?? [])]);
}
