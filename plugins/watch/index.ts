import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { says } from '../../core/http.ts';
import { text } from '../../core/operation.ts';
import { definePlugin } from '../../core/plugin.ts';

/** A page that plays a stream: `/watch/{playbackId}`. */
export default definePlugin({
  id: 'watch',
  summary: 'the watch page',
  routes() {
    const file = (path: string) => Bun.file(join(import.meta.dir, 'page', path));
    const player = createRequire(import.meta.url).resolve('hls.js/dist/hls.min.js');
    const serve = (body: Blob, headers: Record<string, string> = {}) =>
      new Response(body, { headers: { ...safe, 'cache-control': 'no-cache', ...headers } });
    return new Elysia()
      .get('/watch/hls.js', () => serve(Bun.file(player)), saysPart('watchHls', 'text/javascript'))
      .get('/watch/watch.js', () => serve(file('watch.js')), saysPart('watchScript', 'text/javascript'))
      .get('/watch/pace.js', () => serve(file('pace.js')), saysPart('watchPace', 'text/javascript'))
      .get('/watch/watch.css', () => serve(file('watch.css')), saysPart('watchStyle', 'text/css'))
      .get(
        '/watch/:playbackId',
        () => serve(file('watch.html'), { 'content-security-policy': policy }),
        says('A page that plays the stream and waits when nothing is on.', {
          name: 'watch',
          isOpen: true,
          isOnEveryNode: true,
          path: { playbackId: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) },
          answers: { 200: text(['text/html'], 'The page.') },
        }),
      );
  },
});

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
