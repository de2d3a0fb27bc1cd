import { createHash } from 'node:crypto';
import { Fault } from '../base/fault.ts';
import { playlistType } from '../hls/playlist.ts';
import { picturesWithPass, withPass } from '../hls/with-pass.ts';
import {
  isRefusal,
  type PlayPass,
  type PlayQuestion,
  type PlaySubject,
  type PlayTerms,
  type PlayVerdict,
  undecided,
} from '../plugin/decide.ts';
import type { Kit } from '../plugin/plugin.ts';

/** Asks the plugins that decide what viewers may fetch. */
export interface PlayGate {
  /** Faults `playback.refused` (403) and `decision.unavailable` (503), thrown or as a rejection. No promise unless a plugin needs one. */
  admit(request: Request, asked: Asked): PlayTerms | undefined | Promise<PlayTerms | undefined>;
  /**
   * Makes the answer that of this viewer: keeps shared caches from giving it to others, and lets the URIs of a playlist carry the
   * pass. Fault `playback.refused` where nothing is left of a playlist.
   *
   * @param answer a playlist that carries a pass must be neither compressed nor conditional
   */
  seal(answer: Response, terms: PlayTerms | undefined): Response | Promise<Response>;
  /** A playlist whose URIs carry the pass, before it is an answer. Fault `playback.refused` where nothing is left of it. */
  carry(playlist: string, pass: PlayPass): string | ReadableStream<Uint8Array>;
}

type Asked = PlaySubject & Pick<PlayQuestion, 'what' | 'file'>;

/** Codes of its Faults. */
export const gateFaults = ['playback.refused', 'decision.unavailable'] as const;

/** Undefined where nobody decides: then nothing has to be looked up. */
export function playGate({
  decide,
  caller,
  log,
}: Pick<Kit, 'decide' | 'caller' | 'log'>): PlayGate | undefined {
  const ask = decide.play;
  if (!ask) return undefined;
  return {
    admit(request, asked) {
      const verdict = ask(questionOf(request, { asked, caller }));
      const check = (found: PlayVerdict): PlayTerms | undefined => {
        if (!isRefusal(found)) return found;
        const { plugin, reason, isFailure } = found;
        if (isFailure) throw undecided();
        const { kind, what, playbackId, sessionId, assetId } = asked;
        log.debug('a plugin refused playback', {
          kind,
          what,
          playbackId,
          sessionId,
          assetId,
          by: plugin,
          reason,
        });
        throw refused;
      };
      return verdict instanceof Promise ? verdict.then(check) : check(verdict);
    },
    seal(answer, terms) {
      if (terms?.isForAll && !terms.pass) return answer;
      answer.headers.set('cache-control', privately(answer.headers.get('cache-control')));
      const rewrite = terms?.pass && answer.status === 200 && rewriters[typeOf(answer)];
      return rewrite ? carried(answer, { rewrite, pass: terms.pass as PlayPass }) : answer;
    },
    carry(playlist, pass) {
      const text = withPass(playlist, pass);
      if (text === undefined) throw refused;
      return text;
    },
  };
}

/** What `Cache-Control` says, for the cache of the viewer alone. */
function privately(said: string | null): string {
  if (said === null) return 'private';
  if (/\b(?:private|no-store)\b/.test(said)) return said;
  return said.startsWith('public') ? said.replace('public', 'private') : `private, ${said}`;
}

/** What names URIs that a player fetches next. */
const rewriters: Readonly<Record<string, typeof withPass>> = {
  [playlistType]: withPass,
  'text/vtt': picturesWithPass,
};

function typeOf({ headers }: Response): string {
  return headers.get('content-type')?.split(';')[0] ?? '';
}

/** What carries the pass of one viewer is of no use to a client with another. */
async function carried(
  answer: Response,
  { rewrite, pass }: { rewrite: typeof withPass; pass: PlayPass },
): Promise<Response> {
  const { status, headers } = answer;
  const text = rewrite(await answer.text(), pass);
  if (text === undefined) throw refused;
  headers.delete('etag');
  headers.delete('content-length');
  return new Response(text, { status, headers });
}

/** The same for all viewers: the reason is for the log. */
const refused = new Fault('playback.refused', { status: 403, message: 'You may not play this.' });

function questionOf(
  request: Request,
  { asked, caller }: { asked: Asked; caller: Kit['caller'] },
): PlayQuestion {
  const { headers } = request;
  const { address } = caller(request);
  const userAgent = headers.get('user-agent') ?? undefined;
  return {
    ...asked,
    ...{ address, userAgent, request, origin: headers.get('origin') ?? undefined },
    // Asked for each part: what no decider looks at is not worked out.
    get token() {
      return tokenOf(request);
    },
    get viewer() {
      const known = JSON.stringify([address, userAgent, tokenOf(request)]);
      return createHash('sha256').update(known).digest('base64url');
    },
  };
}

function tokenOf({ url, headers }: Request): string | undefined {
  const inQuery = /[?&]token=([^&#]*)/.exec(url)?.[1];
  // What is plain needs no decoding: that of a pass.
  if (inQuery !== undefined)
    return /^[\w.-]*$/.test(inQuery) ? inQuery : (new URL(url).searchParams.get('token') ?? '');
  return /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
}
