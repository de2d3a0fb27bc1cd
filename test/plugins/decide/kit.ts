/** What the tests of decisions share: plugins that decide, written as outsiders write them. */
import { type Deciders, definePlugin, type Kit, type Plugin, type Questions } from 'millrace/plugin';
import type { World } from '../../kit/world.ts';

type Asked = { [D in keyof Questions]: Questions[D][] };

/** A plugin that answers as the test says, and keeps what it was asked. */
export function deciding(id: string, decides: Deciders<Kit>): { plugin: Plugin; asked: Asked } {
  const asked: Asked = { publish: [], play: [], upload: [], export: [], delivery: [] };
  const kept = Object.fromEntries(
    Object.entries(decides).map(([kind, decide]) => [
      kind,
      (question: never, kit: Kit) => {
        (asked[kind as keyof Asked] as unknown[]).push(question);
        return decide(question, kit);
      },
    ]),
  );
  const plugin = definePlugin({ id, summary: 'decides as a test says', contract: 3, decides: kept });
  return { plugin: plugin as Plugin, asked };
}

export const hang = () => new Promise<undefined>(() => {});
export const fail = () => {
  throw new Error('the decider is broken');
};
export const undecided = 'The server cannot decide at the moment whether this is allowed. Try again.';

/** A viewer's GET, whatever it is answered with. */
export async function view(w: World, path: string, headers: Record<string, string> = {}) {
  const request = Object.assign(new Request(`http://localhost:8080${path}`, { headers }), {
    peer: '203.0.113.7',
  });
  const answer = await w.app.handle(request);
  const text = await answer.text();
  await w.settle();
  const isJson = answer.headers.get('content-type')?.startsWith('application/json');
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
}

/** Samples of `millrace_decisions_total`, as `plugin kind outcome` → count; zeros are left out. */
export async function counts(w: World): Promise<Record<string, number>> {
  const { text } = await view(w, '/metrics');
  const samples = text.matchAll(
    /^millrace_decisions_total\{kind="(\w+)",outcome="(\w+)",plugin="([\w-]+)"\} (\d+)$/gm,
  );
  return Object.fromEntries(
    [...samples].flatMap(([, kind, outcome, plugin, count]) =>
      count === '0' ? [] : [[`${plugin} ${kind} ${outcome}`, Number(count)]],
    ),
  );
}
