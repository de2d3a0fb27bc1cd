import { Fault } from '../../core/base/fault.ts';
import { within } from '../../core/base/timing.ts';
import type { Caller } from '../../core/http/caller.ts';
import { playGate } from '../../core/http/play-gate.ts';
import type { Kit } from '../../core/plugin/plugin.ts';
import { findByName } from '../../core/vod/aliases.ts';
import { filmFiles } from '../assets/contract.ts';
import { type Found, playableFinder, playables, playbackAliases } from '../playback/contract.ts';
import { liveFiles } from '../streams/contract.ts';

/** Width and height of a player where nothing says how large it is to be, pixels. */
export const usualSize = { width: 640, height: 360 };

/** What other pages may show of a video, beside a link to it. */
export interface Preview {
  readonly id: string;
  /** Its kind: names are for the owner. */
  readonly title: string;
  readonly isLive: boolean;
  /** Not everybody may watch it. */
  readonly isPrivate: boolean;
  /** URL of a still. */
  readonly image?: string;
}

export type PreviewKit = Pick<Kit, 'offered' | 'clock' | 'decide' | 'caller' | 'log'>;

/**
 * What there is under a playback id, for this request. Undefined where there is nothing; Faults as of `GET /api/playback/{id}`, also
 * where a plugin refuses it.
 */
export function previewer(kit: PreviewKit): (id: string, request: Request) => Promise<Preview | undefined> {
  const find = playableFinder(kit.offered(playables));
  const byName = findByName({ aliases: kit.offered(playbackAliases), clock: kit.clock });
  const gate = playGate(kit);
  const stills = stillsOf(kit);
  return async (id, request) => {
    const caller = kit.caller(request);
    const found = await byName(id, (one) => find(one, caller));
    if (!found) return undefined;
    const asked = gate && found.subject;
    const terms = asked && (await gate.admit(request, { ...asked, what: 'info', file: '' }));
    const isPrivate = asked !== undefined && !terms?.isForAll;
    const image = imageOf(found, stills);
    return {
      id,
      title: titles[found.type],
      isLive: found.meta.live === 1,
      isPrivate,
      ...(image && { image }),
    };
  };
}

const titles: Readonly<Record<Found['type'], string>> = {
  live: 'Live broadcast',
  recording: 'Recording',
  vod: 'Video',
};

/** Whether pictures are made of what is live, and of films. */
export function stillsOf({ offered }: Pick<Kit, 'offered'>) {
  const has = (files: readonly { readonly name: string }[]) => files.some(({ name }) => name === still);
  return { live: has(offered(liveFiles)), film: has(offered(filmFiles)) };
}

const still = 'thumbnail.jpg';

function imageOf({ type, meta }: Found, stills: ReturnType<typeof stillsOf>): string | undefined {
  const playlist = meta.source.find((source) => source.type.includes('mpegurl'));
  const isThere = type === 'live' ? stills.live && meta.live === 1 : stills.film;
  return isThere ? playlist?.url.replace(/[^/]*$/, still) : undefined;
}

/** The tags that other sites look for in a page (Open Graph, Twitter, oEmbed), as HTML. */
export function tagsOf(preview: Preview, { baseUrl }: Pick<Caller, 'baseUrl'>): string {
  const { title, image } = preview;
  const id = encodeURIComponent(preview.id);
  const page = `${baseUrl}/watch/${id}`;
  const player = `${baseUrl}/embed/${id}`;
  const width = String(usualSize.width);
  const height = String(usualSize.height);
  const oembed = `${baseUrl}/oembed?url=${encodeURIComponent(page)}&format=json`;
  const properties = {
    ...{ 'og:type': 'video.other', 'og:site_name': 'Millrace', 'og:title': title, 'og:url': page },
    ...(image && { 'og:image': image }),
    ...{
      'og:video': player,
      'og:video:type': 'text/html',
      'og:video:width': width,
      'og:video:height': height,
    },
  };
  const names = {
    ...{ 'twitter:card': 'player', 'twitter:title': title, 'twitter:player': player },
    ...{ 'twitter:player:width': width, 'twitter:player:height': height },
    ...(image && { 'twitter:image': image }),
  };
  return [
    `<link rel="alternate" type="application/json+oembed" href="${escaped(oembed)}" title="${escaped(title)}" />`,
    ...Object.entries(properties).map(
      ([name, value]) => `<meta property="${name}" content="${escaped(value)}" />`,
    ),
    ...Object.entries(names).map(([name, value]) => `<meta name="${name}" content="${escaped(value)}" />`),
  ].join('\n    ');
}

/** Text inside the quotes of an attribute. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** ms. A page is not kept waiting for what only other sites look for. */
const patience = 1000;

/** The same, for a page that is shown in any case. */
export async function tagsFor(
  asked: { readonly id: string; readonly request: Request },
  { kit, preview }: { kit: PreviewKit; preview: ReturnType<typeof previewer> },
): Promise<string> {
  const late = () => new Fault('server.busy', { status: 503, message: 'It takes too long.' });
  try {
    const looked = preview(asked.id, asked.request);
    const found = await within(looked, { ms: patience, clock: kit.clock, late });
    return found ? tagsOf(found, kit.caller(asked.request)) : '';
  } catch (error) {
    if (!(error instanceof Fault)) kit.log.error('a video could not be looked for', { error });
    return '';
  }
}
