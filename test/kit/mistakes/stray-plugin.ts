import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { says } from '../../../core/http/http.ts';
import { json } from '../../../core/http/operation.ts';
import { definePlugin, type Kit } from '../../../core/plugin/plugin.ts';

/** Mistakes that no call is answered with. */
const mistakes: Record<string, (kit: Kit) => unknown> = {
  timer: () => setTimeout(() => fail('of a timer'), 10),
  promise: () => void Promise.reject(new TypeError('of a promise')),
  text: () => {
    // What is thrown need not be an error.
    setTimeout(() => {
      throw 'a text';
    }, 10);
  },
  loop() {
    const until = performance.now() + 7000;
    while (performance.now() < until);
  },
  hang: () => new Promise(() => {}),
  // The stack of what follows has files of the program alone.
  program: ({ resources }) => setTimeout(resources.write as never, 10),
};

function fail(what: string): never {
  throw new TypeError(what);
}

/** A plugin for tests of the whole program, named by its path in the config: `GET /stray/{mistake}` makes one of these mistakes. */
export default definePlugin({
  id: 'stray',
  contract: 3,
  summary: 'makes mistakes on demand',
  routes: (kit) =>
    new Elysia().get(
      '/stray/:mistake',
      async ({ params }) => {
        await mistakes[params.mistake]?.(kit as unknown as Kit);
        return Response.json({ done: params.mistake });
      },
      says('Makes a mistake.', {
        name: 'stray',
        isOpen: true,
        path: { mistake: Type.String({ examples: ['timer'] }) },
        answers: { 200: json(Type.Object({ done: Type.String() }, { additionalProperties: false })) },
      }),
    ),
});
