import { useEffect, useRef, useState } from 'preact/hooks';
import { allows, call, key } from './api.js';
import { serverNow } from './clock.js';
import { hasField } from './extensions.js';
import { localUrl } from './local-url.js';

/**
 * Tokens with which the reader watches what is theirs. A thing is `{playbackId, playbackPolicy}`: without a policy of its own that of
 * the account or the deployment holds.
 */

/** Playback id → `{token, expiresAt}`, or a promise of it. */
const tokens = new Map();
/** Playback ids that were refused without a token. */
const refused = new Set();
/** Whether what has no policy of its own needs a token. Undefined until it is known. */
let isDefaultOpen;
let asking;
/** A token that ends so soon is not used, ms. */
const early = 60_000;

key.subscribe(() => {
  tokens.clear();
  refused.clear();
  isDefaultOpen = undefined;
  asking = undefined;
});

/** Whether it may need a token: false where everybody may watch. */
export function mayNeedToken({ playbackId, playbackPolicy }) {
  if (!playbackId || !hasField('stream', 'playbackPolicy')) return false;
  if (!allows('GET', 'playback/:id/token')) return false;
  if (playbackPolicy) return playbackPolicy.type !== 'public';
  return refused.has(playbackId) || isDefaultOpen !== true;
}

/** The token for a thing; undefined when it needs none, or there is none for this reader. */
export async function tokenOf(thing) {
  if (!mayNeedToken(thing)) return undefined;
  const { playbackId, playbackPolicy } = thing;
  if (!playbackPolicy && !refused.has(playbackId) && (await isOpenByDefault(playbackId))) return undefined;
  const known = await tokens.get(playbackId);
  if (known && known.expiresAt - early > serverNow()) return known.token;
  const asked = call('GET', `/api/playback/${encodeURIComponent(playbackId)}/token`).catch(() => undefined);
  tokens.set(playbackId, asked);
  return (await asked)?.token;
}

/** It was refused: the token is of before a change, or one is needed. */
export function refuseToken({ playbackId }) {
  tokens.delete(playbackId);
  refused.add(playbackId);
}

/** After a change of who may watch. */
export function forgetTokens() {
  tokens.clear();
  refused.clear();
  isDefaultOpen = undefined;
  asking = undefined;
}

/** What holds without a policy is asked once in a tab, for the first thing that has none. */
function isOpenByDefault(playbackId) {
  const path = `playback/${encodeURIComponent(playbackId)}/check`;
  if (isDefaultOpen !== undefined || !allows('POST', path)) return isDefaultOpen ?? true;
  asking ??= call('POST', `/api/${path}`, { body: { origin: location.origin } }).then(
    ({ allowed }) => {
      isDefaultOpen = allowed;
      return allowed;
    },
    () => {
      asking = undefined;
      return true;
    },
  );
  return asking;
}

/** A URL of this server with the token. */
export function withToken(url, token) {
  const local = localUrl(url);
  if (!local || !token) return local;
  return `${local}${local.includes('?') ? '&' : '?'}token=${encodeURIComponent(token)}`;
}

/**
 * A function that adds the token of a thing to its URLs; undefined until the token is there. `turn`: another value asks again. `box`:
 * of an element; the token is asked for when it is on the screen.
 */
export function useToken(thing, { turn, box } = {}) {
  const [state, setState] = useState();
  const seen = useSeen(box);
  const isNeeded = mayNeedToken(thing);
  const of = `${thing.playbackId} ${thing.playbackPolicy?.type} ${turn}`;
  useEffect(() => {
    if (!isNeeded || !seen) return undefined;
    let isOver = false;
    void tokenOf(thing).then((token) => isOver || setState({ of, token }));
    return () => {
      isOver = true;
    };
  }, [of, isNeeded, seen]);
  if (!isNeeded) return localUrl;
  return state?.of === of ? (url) => withToken(url, state.token) : undefined;
}

/** Whether an element was on the screen. Without one: true. */
function useSeen(box) {
  const [isSeen, setSeen] = useState(box === undefined);
  const watched = useRef();
  useEffect(() => {
    if (isSeen) return undefined;
    watched.current = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    watched.current.observe(box.current);
    return () => watched.current.disconnect();
  }, [isSeen]);
  return isSeen;
}
