import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { text } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import { watchPages } from '../streams/contract.ts';

/** A page that plays a stream, an asset or a recording: `/watch/{playbackId}`. */
export default definePlugin({
  id: 'watch',
  summary: 'the watch page',
  offers: [
    offer(
      watchPages,
      () =>
        (id, { baseUrl }) =>
          `${baseUrl}/watch/${id}`,
    ),
  ],
  routes() {
    const file = (path: string) => Bun.file(join(import.meta.dir, 'page', path));
    const player = createRequire(import.meta.url).resolve('hls.js/dist/hls.min.js');
    const serve = (body: Blob, headers: Record<string, string> = {}) =>
      new Response(body, { headers: { ...safe, 'cache-control': 'no-cache', ...headers } });
    const parts = new Elysia();
    for (const [name, { file: path, type }] of Object.entries(pageParts))
      parts.get(`/watch/${path}`, () => serve(file(path)), saysPart(name, type));
    return parts
      .get('/watch/hls.js', () => serve(Bun.file(player)), saysPart('watchHls', 'text/javascript'))
      .get(
        '/watch/:playbackId',
        () => serve(file('watch.html'), { 'content-security-policy': policy }),
        says(
          'A page that plays a stream, an asset or a recording, and waits until there is something to play.',
          {
            name: 'watch',
            isOpen: true,
            isOnEveryNode: true,
            path: { playbackId: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) },
            answers: { 200: text(['text/html'], 'The page.') },
          },
        ),
      );
  },
});

/** Files of the page beside it, by the name of their call. */
const pageParts = {
  watchScript: { file: 'watch.js', type: 'text/javascript' },
  watchPace: { file: 'pace.js', type: 'text/javascript' },
  watchFilm: { file: 'film.js', type: 'text/javascript' },
  watchLookUp: { file: 'look-up.js', type: 'text/javascript' },
  watchStyle: { file: 'watch.css', type: 'text/css' },
};

function saysPart(name: string, type: string) {
  return says('A part of the watch page.', {
    name,
    isOpen: true,
    isOnEveryNode: true,
    answers: { 200: text([type], 'The file.') },
  });
}

const safe = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };
const policy = "default-src 'self'; media-src 'self' blob:; worker-src 'self' blob:; img-src 'self' data:";
