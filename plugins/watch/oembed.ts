import { Type } from '@sinclair/typebox';
import { Fault } from '../../core/base/fault.ts';
import { object, oneOf } from '../../core/base/schema.ts';
import { json, type Operation, storeFaults } from '../../core/http/operation.ts';
import { gateFaults } from '../../core/http/play-gate.ts';
import { invalidQuery } from '../../core/http/query.ts';
import { neverReady, notReady } from '../playback/contract.ts';
import { escaped, type PreviewKit, type previewer, usualSize } from './preview.ts';

export const oembedFaults = {
  'oembed.not_found': { status: 404, meaning: 'The URL is no page of a video of this deployment.' },
  'oembed.format_unsupported': { status: 501, meaning: 'oEmbed is answered as JSON only.' },
};

/** Largest side that can be asked for, pixels. */
const largest = 10_000;
const longestUrl = 2000;

/** `GET /oembed`: how another site shows the video of a link (oEmbed 1.0, https://oembed.com). */
export function answerOembed(
  kit: PreviewKit,
  preview: ReturnType<typeof previewer>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const query = new URL(request.url).searchParams;
    const limits = { width: pixels(query, 'maxwidth'), height: pixels(query, 'maxheight') };
    const format = query.get('format') ?? 'json';
    if (format !== 'json')
      throw new Fault('oembed.format_unsupported', { status: 501, message: 'Ask with format=json.' });
    const url = query.get('url');
    if (url === null) throw invalidQuery('url: expected the address of a watch page');
    const { baseUrl } = kit.caller(request);
    const page = pageOf(url, baseUrl);
    const found = page && (await preview(page.id, request).catch(unready));
    if (!page || !found) throw notFound;
    const { width, height } = fitted(limits);
    const player = `${baseUrl}/embed/${encodeURIComponent(page.id)}${page.query}`;
    const html =
      `<iframe src="${escaped(player)}" width="${width}" height="${height}" title="${escaped(found.title)}" ` +
      'frameborder="0" allow="autoplay; fullscreen; picture-in-picture" allowfullscreen></iframe>';
    const body = { version: '1.0', type: 'video', title: found.title, provider_name: 'Millrace' };
    return Response.json(
      { ...body, provider_url: baseUrl, width, height, html },
      {
        headers: {
          'cache-control': found.isPrivate ? 'private, no-cache' : 'no-cache',
          'x-content-type-options': 'nosniff',
        },
      },
    );
  };
}

const notFound = new Fault('oembed.not_found', {
  status: 404,
  message:
    'This URL is no page of a video here. Expected /watch/{playbackId} or /embed/{playbackId} of this deployment.',
});

/** The codes of these two are there only with the plugin playback. */
function unready(error: unknown): undefined {
  if (error !== notReady && error !== neverReady) throw error;
}

/** The id that a page of this deployment shows, and what of its query the player takes; undefined for every other URL. */
function pageOf(text: string, baseUrl: string): { readonly id: string; readonly query: string } | undefined {
  if (text.length > longestUrl || !URL.canParse(text)) return undefined;
  const { protocol, host, pathname, searchParams } = new URL(text);
  const base = new URL(baseUrl);
  if (!/^https?:$/.test(protocol) || host !== base.host) return undefined;
  const prefix = base.pathname.replace(/\/$/, '');
  if (!pathname.startsWith(`${prefix}/`)) return undefined;
  const [, name] = /^\/(?:watch|embed)\/([^/]+)\/?$/.exec(pathname.slice(prefix.length)) ?? [];
  try {
    const id = name && decodeURIComponent(name);
    return id ? { id, query: playerQuery(searchParams) } : undefined;
  } catch {
    // No UTF-8.
    return undefined;
  }
}

/** Parameters of the player that may be in a link, by what is accepted. */
const accepted: Readonly<Record<string, RegExp>> = {
  autoplay: /^(1|true)$/,
  muted: /^(1|true)$/,
  start: /^\d{1,6}(\.\d{1,3})?$/,
  color: /^[0-9a-f]{3}([0-9a-f]{3})?$/i,
};

function playerQuery(given: URLSearchParams): string {
  const taken = Object.entries(accepted).flatMap(([name, pattern]) => {
    const value = given.get(name);
    return value !== null && pattern.test(value) ? [[name, value]] : [];
  });
  return taken.length > 0 ? `?${new URLSearchParams(taken)}` : '';
}

function pixels(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > largest)
    throw invalidQuery(`${name}: expected a whole number from 1 to ${largest}`);
  return Number(text);
}

/** 16:9, as large as usual unless that is too large. */
function fitted({ width = usualSize.width, height = usualSize.height }): { width: number; height: number } {
  const scale = Math.min(1, width / usualSize.width, height / usualSize.height);
  const scaled = (side: number) => Math.max(1, Math.floor(side * scale));
  return { width: scaled(usualSize.width), height: scaled(usualSize.height) };
}

const side = Type.String({ pattern: '^\\d{1,5}$', description: 'Pixels, at most.', examples: ['640'] });

/** What the API reference says of it. */
export const oembedOperation: Operation = {
  name: 'getOembed',
  isOpen: true,
  query: {
    url: Type.String({
      maxLength: longestUrl,
      description: 'A watch page or player of this deployment.',
      examples: ['https://video.example.com/watch/6pukxh2m0ydr9h3q'],
    }),
    format: Type.Optional(oneOf(['json'])),
    maxwidth: Type.Optional(side),
    maxheight: Type.Optional(side),
  },
  answers: {
    200: json(
      object({
        version: oneOf(['1.0']),
        type: oneOf(['video']),
        title: Type.String({ examples: ['Live broadcast'] }),
        provider_name: Type.String({ examples: ['Millrace'] }),
        provider_url: Type.String({ examples: ['https://video.example.com'] }),
        width: Type.Number({ examples: [640] }),
        height: Type.Number({ examples: [360] }),
        html: Type.String({
          description: 'An `<iframe>` with the player.',
          examples: ['<iframe …></iframe>'],
        }),
      }),
      'How the video is shown in another page.',
    ),
  },
  faults: [
    ...['oembed.not_found', 'oembed.format_unsupported', 'query.invalid', 'server.busy'],
    ...gateFaults,
    ...storeFaults,
  ],
};
