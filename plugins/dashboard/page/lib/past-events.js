import { useEffect, useRef, useState } from 'preact/hooks';
import { allows, callWhole, sentence } from './api.js';
import { onEvent, recent } from './events.js';

const pageSize = 100;
/** Events that a page holds at most: the oldest go, and can be read again. */
const most = 10_000;
/** ms for which new events gather before they are shown. */
const gather = 250;
/** Pages that are read at one go when those asked for are rare: each may be empty. */
const emptyPages = 10;

/**
 * The events of the account, newest first: those that the server still has, page by page, and new ones as they come.
 *
 * `{events, older, isEnd, isLoading, error}`: `older()` loads the next page. `type` and `streamId`: only those; ''= all.
 */
export function useEventLog({ type, streamId }) {
  const canRead = allows('GET', 'events/log');
  const start = () => ({
    events: canRead ? [] : recent.value,
    next: canRead ? '' : undefined,
    isLoading: false,
  });
  const [state, setState] = useState(start);
  const now = useRef(state);
  now.current = state;
  const turn = useRef(0);
  const change = (values) => {
    now.current = { ...now.current, ...values };
    setState(now.current);
  };
  const older = async () => {
    const { next, isLoading } = now.current;
    if (next === undefined || isLoading) return;
    const mine = turn.current;
    change({ isLoading: true, error: undefined });
    try {
      const page = await pageAfter(next, { type, streamId });
      if (mine !== turn.current) return;
      // Only the first page can have what came meanwhile.
      const known = new Set(next === '' ? now.current.events.map(({ id }) => id) : []);
      const events = [...now.current.events, ...page.events.filter(({ id }) => !known.has(id))];
      const isFull = events.length >= most;
      change({ events: events.slice(0, most), next: isFull ? undefined : page.next, isLoading: false });
    } catch (error) {
      if (mine === turn.current) change({ isLoading: false, error: sentence(error) });
    }
  };
  useEffect(() => {
    turn.current += 1;
    now.current = start();
    setState(now.current);
    void older();
    return () => {
      turn.current += 1;
    };
  }, [type, streamId, canRead]);
  useEffect(() => {
    let came = [];
    let timer;
    const show = () => {
      timer = undefined;
      const known = new Set(now.current.events.slice(0, pageSize).map(({ id }) => id));
      const events = [...came.filter(({ id }) => !known.has(id)), ...now.current.events].slice(0, most);
      came = [];
      change({ events });
    };
    const end = onEvent((event) => {
      if (event.id === undefined || !isAsked(event, { type, streamId })) return;
      came = [event, ...came].slice(0, most);
      timer ??= setTimeout(show, gather);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [type, streamId]);
  return { ...state, isEnd: state.next === undefined, older };
}

const isAsked = ({ event, stream }, { type, streamId }) =>
  (!type || event === type) && (!streamId || stream?.id === streamId);

/** The next page that has any, of so many. `cursor` '': the newest. */
async function pageAfter(cursor, { type, streamId }) {
  let next = cursor;
  for (let pages = 0; pages < emptyPages; pages += 1) {
    const query = {
      limit: pageSize,
      ...(type && { type }),
      ...(streamId && { streamId }),
      ...(next && { cursor: next }),
    };
    const page = await callWhole('GET', '/api/events/log', { query });
    next = page.next?.searchParams.get('cursor');
    if (page.body.length > 0 || next === undefined) return { events: page.body, next };
  }
  return { events: [], next };
}
