import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { says } from '../../core/http/http.ts';
import { text } from '../../core/http/operation.ts';
import { openly, preflight, saysPreflight } from '../../core/http/public-access.ts';
import { openLimit } from '../../core/http/request-limits.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { offer } from '../../core/plugin/token.ts';
import { watchPages } from '../streams/contract.ts';
import { framers } from './framers.ts';
import { answerOembed, oembedFaults, oembedOperation } from './oembed.ts';
import { previewer, stillsOf, tagsFor } from './preview.ts';

/** Pages that play a stream, an asset or a recording: `/watch/{playbackId}`, and `/embed/{playbackId}` in pages of others. */
export default definePlugin({
  id: 'watch',
  summary: 'the watch page and the embeddable player',
  faults: oembedFaults,
  offers: [
    offer(
      watchPages,
      () =>
        (id, { baseUrl }) =>
          `${baseUrl}/watch/${id}`,
    ),
  ],
  routes(kit) {
    const page = (name: string) => readFileSync(join(pageFolder, name), 'utf8');
    const watch = page('watch.html');
    const stills = stillsOf(kit);
    const embed =
      stills.live || stills.film ? page(embedPage).replace('<html', '<html data-stills') : page(embedPage);
    const preview = previewer(kit);
    const show = (html: string, policy: string) =>
      new Response(html, {
        headers: { ...safe, 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy },
      });
    const oembed = answerOembed(kit, preview);
    const admit = openLimit(kit);
    const app = new Elysia();
    for (const [path, { name, file, type = 'text/javascript' }] of Object.entries(parts))
      app.get(path, () => part(file), saysPart(name, type));
    return app
      .get(
        '/watch/:playbackId',
        async ({ params, request }) => {
          const tags = await tagsFor({ id: params.playbackId, request }, { kit, preview });
          return show(
            watch.replace('<!-- preview -->', () => tags),
            watchPolicy,
          );
        },
        saysPage(
          'watch',
          'A page that plays a stream, an asset or a recording, and waits until there is something to play.',
        ),
      )
      .get(
        '/embed/:playbackId',
        async ({ params, request }) =>
          show(embed, embedPolicy(await framers({ id: params.playbackId, request }, kit))),
        saysPage(
          'embed',
          'The player alone, for a frame in a page of any origin. It waits until there is something to play.',
        ),
      )
      .get(
        '/oembed',
        ({ request }) =>
          openly(async () => {
            await admit(request);
            return oembed(request);
          }),
        says('How another site shows a link to a video (oEmbed 1.0).', oembedOperation),
      )
      .options('/oembed', preflight, saysPreflight('preflightOembed'));
  },
});

const pageFolder = join(import.meta.dir, 'page');
const embedPage = 'embed/embed.html';
const library = (module: string) => Bun.resolveSync(module, import.meta.dir);
const own = (file: string) => join(pageFolder, file);

interface Part {
  /** Of its call. */
  readonly name: string;
  readonly file: string;
  readonly type?: string;
}

/** Files of the pages, by their path. */
const parts: Readonly<Record<string, Part>> = {
  '/watch/watch.js': { name: 'watchScript', file: own('watch.js') },
  '/watch/playback.js': { name: 'watchPlayback', file: own('playback.js') },
  '/watch/live-config.js': { name: 'watchLiveConfig', file: own('live-config.js') },
  '/watch/dvr.js': { name: 'watchDvr', file: own('dvr.js') },
  '/watch/pace.js': { name: 'watchPace', file: own('pace.js') },
  '/watch/film.js': { name: 'watchFilm', file: own('film.js') },
  '/watch/look-up.js': { name: 'watchLookUp', file: own('look-up.js') },
  '/watch/watch.css': { name: 'watchStyle', file: own('watch.css'), type: 'text/css' },
  '/watch/hls.js': { name: 'watchHls', file: library('hls.js/dist/hls.min.js') },
  '/embed/player.js': { name: 'embedComponent', file: own('embed/player.js') },
  '/watch/embed/embed.js': { name: 'embedScript', file: own('embed/embed.js') },
  '/watch/embed/broadcast.js': { name: 'embedBroadcast', file: own('embed/broadcast.js') },
  '/watch/embed/host.js': { name: 'embedHost', file: own('embed/host.js') },
  '/watch/embed/keys.js': { name: 'embedKeys', file: own('embed/keys.js') },
  '/watch/embed/options.js': { name: 'embedOptions', file: own('embed/options.js') },
  '/watch/embed/qualities.js': { name: 'embedQualities', file: own('embed/qualities.js') },
  '/watch/embed/embed.css': { name: 'embedStyle', file: own('embed/embed.css'), type: 'text/css' },
  '/watch/media-chrome.js': { name: 'embedControls', file: library('media-chrome/dist/iife/all.js') },
};

/** Pages of other origins load the web component, as a script or as a module. */
function part(file: string): Response {
  return new Response(Bun.file(file), { headers: { ...safe, 'access-control-allow-origin': '*' } });
}

function saysPart(name: string, type: string) {
  return says('A part of the watch page or of the player.', {
    name,
    isOpen: true,
    isOnEveryNode: true,
    answers: { 200: text([type], 'The file.') },
  });
}

function saysPage(name: string, summary: string) {
  return says(summary, {
    name,
    isOpen: true,
    isOnEveryNode: true,
    path: { playbackId: Type.String({ examples: ['6pukxh2m0ydr9h3q'] }) },
    answers: { 200: text(['text/html'], 'The page.') },
  });
}

const safe = {
  'cache-control': 'no-cache',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};
const watchPolicy =
  "default-src 'self'; media-src 'self' blob:; worker-src 'self' blob:; img-src 'self' data:";
/** The controls of media-chrome bring their styles along in their markup. */
const embedPolicy = (ancestors: string) => [...embedSources, `frame-ancestors ${ancestors}`].join('; ');
const embedSources = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "media-src 'self' blob:",
  "worker-src 'self' blob:",
  "base-uri 'none'",
  "form-action 'none'",
];
