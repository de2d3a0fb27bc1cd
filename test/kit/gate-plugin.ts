import { definePlugin } from 'millrace/plugin';

/** Streams that were let in as private: memory is enough, as one node does everything. */
const privateStreams = new Set<string>();

/**
 * A plugin for tests of the whole program, named by its path in the config. It decides by the names of streams: `Closed` may not be
 * broadcast, about `Stuck` it never answers, and `Private` is for viewers with `?token=paid`.
 */
export default definePlugin({
  id: 'gate',
  contract: 3,
  summary: 'decides by the names of streams',
  decides: {
    publish({ name, streamId }) {
      if (name === 'Stuck') return new Promise(() => {});
      if (name === 'Private') privateStreams.add(streamId);
      return name === 'Closed' ? { refuse: 'Come back after noon.' } : undefined;
    },
    async play({ streamId = '', token }) {
      const isFree = !privateStreams.has(streamId) || token === 'paid';
      return isFree ? undefined : { refuse: 'There is no ticket.' };
    },
  },
});
