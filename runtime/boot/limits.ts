import { limitTable } from '../../core/base/limit-table.ts';

/** What the HTTP server allows. How many requests at one time is in the config. */
export const serverLimits = limitTable('http', {
  headerBytes: {
    value: 16_384,
    unit: 'bytes',
    meaning: 'Request line and headers together.',
    beyond: '431 without a body, or 414 for a request line alone.',
  },
  fileBytes: {
    value: 2 ** 43,
    unit: 'bytes',
    meaning: 'Any request body. Routes that take files have smaller bounds of their own.',
    beyond: '413 without a body; the connection is closed.',
  },
  idleTimeout: {
    value: 30,
    unit: 's',
    meaning:
      'Silence on an HTTP connection. A blocked playlist reload may be silent for 12 s, an event stream for 5 s.',
    beyond: 'The connection is closed.',
  },
});

/** Requests between nodes. */
export const nodeClientLimits = limitTable('nodes', {
  requests: {
    value: 8000,
    unit: 'requests',
    meaning: 'Requests to other nodes under way at one time.',
    beyond: 'Further ones fail with 503 `node.unreachable`.',
  },
  idleConnections: {
    value: 2000,
    unit: 'connections',
    meaning: 'Idle connections to other nodes.',
    beyond: 'The one unused for longest is closed.',
  },
  idlePerNode: {
    value: 500,
    unit: 'connections',
    meaning: 'The same to one node.',
    beyond: 'The one unused for longest is closed.',
  },
  silence: {
    value: 35_000,
    unit: 'ms',
    meaning: 'Silence of another node within an answer; longer than anything waits there.',
    beyond: 'The request fails.',
  },
  answerBytes: {
    value: 64 * 1_048_576,
    unit: 'bytes',
    meaning: 'One answer of another node.',
    beyond: 'It breaks off.',
  },
});

/** Engines beside the program: Redis, Kafka, S3. */
export const engineLimits = limitTable('engines', {
  startWait: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long a start waits for an engine that does not answer.',
    beyond: 'Exit code 1, naming it.',
  },
  retryInterval: {
    value: 500,
    unit: 'ms',
    meaning: 'Pause between two attempts to reach an engine at the start.',
    beyond: 'It is tried again.',
  },
  tellInterval: {
    value: 5000,
    unit: 'ms',
    meaning: 'How often the log tells that the start waits for an engine.',
    beyond: 'It is told again.',
  },
  askInterval: {
    value: 1000,
    unit: 'ms',
    meaning: 'How often a running node asks its engines whether they are there.',
    beyond: 'They are asked again.',
  },
  silence: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long an engine may not answer before the node is not ready any more.',
    beyond: '`/health/ready` is 503 until the engine answers.',
  },
});

/** The log of events, and what reacts to it. */
export const eventLimits = limitTable('events', {
  retention: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long events are kept for `Last-Event-ID`, and causes to know repeats by.',
    beyond: 'They are removed; an older `Last-Event-ID` is 410 `events.gone`.',
  },
  sweepInterval: {
    value: 3_600_000,
    unit: 'ms',
    meaning: 'How often what is too old is removed.',
    beyond: 'It stays that much longer at most.',
  },
  reactionBatch: {
    value: 100,
    unit: 'events',
    meaning: 'Events that a plugin reacts to before its place in the log is stored.',
    beyond:
      'After a crash at most so many are reacted to again, and all that came after an event whose reaction fails.',
  },
  reactionRetry: {
    value: 1000,
    unit: 'ms',
    meaning: 'Wait before a reaction that failed is tried again.',
    beyond: 'It holds up the further events of its stream, for that plugin alone.',
  },
  reactionHeld: {
    value: 1000,
    unit: 'streams',
    meaning: 'Streams of which an event waits for another try, of one plugin.',
    beyond: 'The plugin reacts to no other event either until one of them is done.',
  },
});

export const actorLimits = limitTable('actors', {
  draws: {
    value: 100_000,
    unit: 'draws',
    meaning:
      'Names that are drawn for one that lies in the partition of its actor; it takes as many as there are partitions.',
    beyond: 'A mistake of ours: 500 `internal`. Chance does not get there: 1 in 10^42 with 1024 partitions.',
  },
  conflicts: {
    value: 5,
    unit: 'attempts',
    meaning: 'How often a step that lost a race is computed again.',
    beyond: '503 `store.busy`; nothing was written.',
  },
  timersAtOnce: {
    value: 500,
    unit: 'actors',
    meaning: 'Actors whose due timers are run at one time.',
    beyond: 'The others after them; a command to one of those runs its timers first.',
  },
  timerRetry: {
    value: 1000,
    unit: 'ms',
    meaning: 'Wait before a timer that could not be run is tried again.',
    beyond: 'It is tried until it runs.',
  },
});

/** The nodes of a deployment, and what they know of each other. */
export const nodeLimits = limitTable('nodes', {
  nodes: {
    value: 1000,
    unit: 'nodes',
    meaning: 'Nodes that are watched, those among them that died within the last day.',
    beyond: 'Of the others nobody notices when they die; the newest are watched.',
  },
  takeAttempts: {
    value: 5,
    unit: 'attempts',
    meaning: 'How often a process tries to take its node id while another writes the same row.',
    beyond: 'The start fails with `node.taken`.',
  },
  lostKept: {
    value: 24 * 3_600_000,
    unit: 'ms',
    meaning: 'How long a node that died is remembered.',
    beyond: 'Its row is removed.',
  },
  answer: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long another node may take to answer, where nothing else is said.',
    beyond: '503 `node.unreachable`.',
  },
  orderRetry: {
    value: 1000,
    unit: 'ms',
    meaning: 'Wait before an order that could not be sent to its node is sent again.',
    beyond: 'It is tried until it is sent, or its node is gone.',
  },
  ordersWaiting: {
    value: 10_000,
    unit: 'orders',
    meaning: 'Orders that wait in memory to be sent again.',
    beyond: 'Further ones wait in the store until its partitions are taken over anew.',
  },
});
