import type { StreamDocument } from '../../plugins/streams/document.ts';

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** Texts that look like parts of a row, need escapes, or have halves of surrogate pairs. */
const texts = [
  ...['', 'a', 'a,', '"', '\\', '\\"', ',"fields":{', '","fields":{"', ',"userTags":', '}},"userTags":{'],
  ...['","account":"x"', '"parentId":null', ',"sessionId":', '{"id":"', '\n\t\u0000\u001f\u007f', '\u2028'],
  ...['Käse', 'فيلم', '\ud83c\udfac', '\ud83c', '\udfac', '\\u0022', '__proto__', 'fields', 'userTags'],
];

/** Makes documents of streams and sessions of every kind, with names, tags and values of plugins that are as bad as can be. */
export function streamDocuments(random: () => number) {
  const below = (most: number) => Math.floor(random() * most);
  const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T;
  const maybe = (share: number) => random() < share;
  const text = (): string => pick([pick(texts), pick(texts) + pick(texts)]);
  const value = (depth: number): Json => {
    if (depth > 0 && maybe(0.3)) return object(depth - 1);
    if (depth > 0 && maybe(0.2)) return Array.from({ length: below(3) }, () => value(depth - 1));
    return pick([text(), below(1e6), random() * 1e-9, -0.5, 1e21, maybe(0.5), null]);
  };
  const object = (depth: number): { readonly [name: string]: Json } =>
    Object.fromEntries(Array.from({ length: below(4) }, () => [text(), value(depth)]));
  const figures = () => ({ bytes: below(1e9), segments: below(1e4), duration: random() * 1e5 });
  const none = { bytes: 0, segments: 0, duration: 0 };
  const fields = (): StreamDocument['fields'] => ({
    ...(maybe(0.9) && { recordings: { record: maybe(0.1) } }),
    ...(maybe(0.9) && {
      multistream: {
        multistream: {
          targets: Array.from({ length: below(3) }, () => ({
            id: text(),
            profile: pick(['source', 'low', text()]),
          })),
        },
      },
    }),
    ...(maybe(0.9) && { renditions: { profiles: maybe(0.5) ? [] : [{ name: 'low' }, { name: text() }] } }),
    ...(maybe(0.3) && { other: { free: object(2) } }),
  });

  return (id: string, account: string): StreamDocument => {
    const wasOn = maybe(0.5);
    const isOn = wasOn && maybe(0.3);
    const isFed = maybe(0.1);
    return {
      ...{ id, account, name: text(), playbackId: '0123456789abcdef', createdByTokenName: text() },
      ...{ streamKey: 'aaaa-bbbb-cccc-dddd', createdAt: Date.UTC(2026, 0) + below(1e10) },
      ...{ suspended: maybe(0.2), holdSeconds: maybe(0.2) ? below(60) : null },
      ...{ userTags: object(2), fields: fields(), parentId: maybe(0.1) ? 'the-parent' : null },
      ...{ isActive: isOn, isHeld: isOn && maybe(0.5), token: isFed ? 'token' : null },
      ...{
        incarnation: isFed ? 'i1' : null,
        feeder: maybe(0.1) ? { node: text(), incarnation: 'i1' } : null,
      },
      ...(wasOn ? { sessionId: 'a-session', nodes: [text(), text()] } : { sessionId: null, nodes: [] }),
      ...(maybe(0.1) && { brakedUntil: Date.UTC(2030, 0) }),
      lastMediaAt: wasOn ? Date.UTC(2026, 1) + below(1e9) : 0,
      past: wasOn && maybe(0.7) ? figures() : none,
      current: wasOn && maybe(0.7) ? figures() : none,
    };
  };
}

/** The text of a row as it was before its keys had the order of `rowText`. */
export function formerText(document: StreamDocument): string {
  const { id, account, name, streamKey, playbackId, createdAt, createdByTokenName, suspended } = document;
  const { holdSeconds = null, userTags, fields, ...rest } = document;
  return JSON.stringify({
    ...{ id, account, name, streamKey, playbackId, createdAt, createdByTokenName, suspended },
    ...{ holdSeconds, userTags, fields },
    ...rest,
  });
}
