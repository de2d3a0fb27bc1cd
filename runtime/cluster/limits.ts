import { limitTable, valuesOf } from '../../core/base/limit-table.ts';

/** Commands that nodes send each other, and the partitions that take them. */
export const clusterLimitTable = limitTable('cluster', {
  asks: {
    value: 2000,
    unit: 'commands',
    meaning: 'Commands of this node that wait for their answer.',
    beyond: '503 `server.busy`; the command is not sent.',
  },
  askTime: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long a command may wait for its answer.',
    beyond: '503 `store.unknown`: it may still be carried out.',
  },
  sendRetry: {
    value: 500,
    unit: 'ms',
    meaning: 'Wait before a command is sent again of which nobody knows whether it arrived.',
    beyond: 'It is sent again, as the same one, until its time is up.',
  },
  pipeline: {
    value: 64,
    unit: 'steps',
    meaning: 'Steps of one partition that are computed and not yet known to be stored.',
    beyond: 'The partition waits for the oldest of them.',
  },
  prefetch: {
    value: 200,
    unit: 'records',
    meaning: 'Records of a partition whose actors are read side by side, before the first of them is taken.',
    beyond: 'The next ones after these.',
  },
  repeats: {
    value: 1000,
    unit: 'records',
    meaning: 'How far back on the log of its partition a command is looked for, to know that it came twice.',
    beyond: 'A copy that comes later is carried out again, unless the caller named a cause.',
  },
  retryFirst: {
    value: 100,
    unit: 'ms',
    meaning:
      'Wait before a call to the store, the bus or the queue of jobs that failed is made again; it doubles.',
    beyond: 'It is tried again.',
  },
  retryMost: {
    value: 2000,
    unit: 'ms',
    meaning: 'Longest such wait.',
    beyond: 'It grows no further. An outage is over for a partition that much later at most.',
  },
  tries: {
    value: 5,
    unit: 'attempts',
    meaning: 'How often a step is tried that fails by a mistake of ours, not by an outage.',
    beyond: 'Its command is buried and answered 500 `internal`; a timer is put off.',
  },
  verdicts: {
    value: 1000,
    unit: 'commands',
    meaning:
      'Commands and timers of one partition that are known to be impossible, until they have been passed.',
    beyond: 'The oldest is tried again.',
  },
  fencedRetry: {
    value: 5000,
    unit: 'ms',
    meaning:
      'Wait before a partition is taken again that the bus gives to this node and another node has taken.',
    beyond: 'It is taken again, if the bus still gives it to this node.',
  },
  consume: {
    value: 1000,
    unit: 'ms',
    meaning: 'How long a record that changed nothing waits for a step that stores its place along.',
    beyond: 'Its place is stored alone.',
  },
  verify: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long a partition without steps goes on before it asks the store whether it still has it.',
    beyond:
      'It asks. One that another node has taken is given up, and of a store that was rolled back what is missing is done again from the log.',
  },
  backlog: {
    value: 1000,
    unit: 'steps',
    meaning: 'Steps of one partition whose events, jobs and orders are not yet handed on.',
    beyond: 'The partition takes no further commands until some are.',
  },
  relayed: {
    value: 200,
    unit: 'steps',
    meaning: 'Steps whose effects are handed on in one go.',
    beyond: 'The next ones after these.',
  },
  published: {
    value: 500,
    unit: 'events',
    meaning: 'Events that are published in one call.',
    beyond: 'The next ones after these.',
  },
  answers: {
    value: 5000,
    unit: 'answers',
    meaning: 'Answers of this node to others that are on their way.',
    beyond: 'A further one is not sent: whoever asked gets 503 `store.unknown`.',
  },
  answerTime: {
    value: 10_000,
    unit: 'ms',
    meaning: 'How long it is tried to send an answer.',
    beyond: 'It is dropped: nobody waits for it any more.',
  },
  eventPage: {
    value: 500,
    unit: 'events',
    meaning: 'Events of other nodes that are read from the log at one time.',
    beyond: 'The next ones after these.',
  },
  eventPoll: {
    value: 1000,
    unit: 'ms',
    meaning: 'How often the log is looked at for events of other nodes that nobody told of.',
    beyond: 'They are heard of that much later at most.',
  },
  idShown: {
    value: 1000,
    unit: 'characters',
    meaning: 'Of the id of an event that is buried.',
    beyond: 'The rest is left out: it may be what the bus refuses.',
  },
  plainPoll: {
    value: 5000,
    unit: 'ms',
    meaning:
      'How often it is looked for events of plain resources whose writer died before it handed them on.',
    beyond: 'They are handed on that much later at most.',
  },
  dutyBeat: {
    value: 2000,
    unit: 'ms',
    meaning:
      'How often the node that has a duty (reactions of a plugin, sweeping) says so, and the others look.',
    beyond: 'A duty that was let go is taken that much later at most.',
  },
  dutyLease: {
    value: 6000,
    unit: 'ms',
    meaning: 'How long the node that has a duty may be silent.',
    beyond: 'Another one takes it.',
  },
  stop: {
    value: 3000,
    unit: 'ms',
    meaning:
      'How long a node that stops waits for the answers to its commands, and then for the end of the steps it has begun.',
    beyond:
      'The commands may still be carried out; the steps are left to the next owners of their partitions.',
  },
  lastAnswers: {
    value: 1000,
    unit: 'ms',
    meaning: 'How long a node that stops waits until its answers have arrived at other nodes.',
    beyond: 'Whoever asked gets 503 `store.unknown`.',
  },
});

export const clusterLimits = valuesOf(clusterLimitTable);
