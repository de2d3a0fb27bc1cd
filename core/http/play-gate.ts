import { createHash } from 'node:crypto';
import { Fault } from '../base/fault.ts';
import { type PlayQuestion, type PlaySubject, type Refusal, undecided } from '../plugin/decide.ts';
import type { Kit } from '../plugin/plugin.ts';

/** Asks the plugins that decide what viewers may fetch. */
export interface PlayGate {
  /** Faults `playback.refused` (403) and `decision.unavailable` (503), thrown or as a rejection. No promise unless a plugin needs one. */
  admit(request: Request, asked: Asked): void | Promise<void>;
  /** Keeps shared caches from giving an answer to viewers that were not asked about. */
  seal(answer: Response): Response;
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
      if (verdict === undefined) return;
      const check = (refusal: Refusal | undefined) => {
        if (!refusal) return;
        const { plugin, reason, isFailure } = refusal;
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
    seal(answer) {
      const kept = answer.headers.get('cache-control');
      answer.headers.set('cache-control', kept?.replace(/^public\b/, 'private') ?? 'private');
      return answer;
    },
  };
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
  const inQuery = url.includes('token=') ? new URL(url).searchParams.get('token') : null;
  return inQuery ?? /^bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
}
