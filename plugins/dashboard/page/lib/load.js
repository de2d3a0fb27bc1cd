import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { sentence } from './api.js';
import { serverNow } from './clock.js';
import { onEvent } from './events.js';

/** ms for which events gather before what they concern is loaded again. */
const usualGather = 400;

/**
 * What a page shows: loads it, again when `on` says that an event concerns it, and every `every` ms. `gather`: ms for which such events
 * gather first.
 *
 * `{data, error, isLoading, reload}`: `data` stays while it is loaded again, and `error` is a sentence.
 */
export function useLoad(load, { deps = [], on, every, gather = usualGather } = {}) {
  const [state, setState] = useState({ data: undefined, error: undefined, isLoading: true });
  const turn = useRef(0);
  const reload = useCallback(async () => {
    turn.current += 1;
    const mine = turn.current;
    try {
      const data = await load();
      if (mine === turn.current) setState({ data, error: undefined, isLoading: false });
    } catch (error) {
      if (mine === turn.current)
        setState((before) => ({ data: before.data, error: sentence(error), cause: error, isLoading: false }));
    }
  }, deps);
  useEffect(() => {
    setState((before) => ({ ...before, isLoading: true }));
    void reload();
    return () => {
      turn.current += 1;
    };
  }, [reload]);
  useEffect(() => {
    if (!on) return undefined;
    let timer;
    const end = onEvent((event) => {
      if (event.event !== 'dashboard.reconnected' && !on(event)) return;
      timer ??= setTimeout(() => {
        timer = undefined;
        void reload();
      }, gather);
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [reload, gather]);
  // What is not there does not come by waiting: ids are never given twice.
  const isGone = state.cause?.status === 404;
  useEffect(() => {
    if (!every || isGone) return undefined;
    const timer = setInterval(() => document.hidden || reload(), every);
    return () => clearInterval(timer);
  }, [reload, every, isGone]);
  return { ...state, reload };
}

/**
 * Runs writes one at a time: `{run, isBusy, problem, problems}`. `problem` is the server's sentence of the last one that failed,
 * `problems` its sentences one by one.
 */
export function useWrite() {
  const [state, setState] = useState({ isBusy: false, problem: undefined, problems: [] });
  const run = async (write) => {
    setState({ isBusy: true, problem: undefined, problems: [] });
    try {
      const result = await write();
      setState({ isBusy: false, problem: undefined, problems: [] });
      return result ?? true;
    } catch (error) {
      setState({ isBusy: false, problem: sentence(error), problems: error?.errors ?? [sentence(error)] });
      return undefined;
    }
  };
  return { ...state, run };
}

/** The time of the server, anew every second: for ages and clocks on a page. */
export function useNow(every = 1000) {
  const [now, setNow] = useState(serverNow());
  useEffect(() => {
    const timer = setInterval(() => setNow(serverNow()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
