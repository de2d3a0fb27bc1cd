import { limitTable } from '../../core/base/limit-table.ts';
import { slowPause } from '../../machines/push.ts';

export const multistreamLimits = limitTable('multistream', {
  targetsPerStream: {
    value: 50,
    unit: 'targets',
    meaning: '`multistream.targets` of one stream.',
    beyond: '422 `body.invalid`.',
  },
  urlLength: {
    value: 2000,
    unit: 'characters',
    meaning: 'The URL of a target.',
    beyond: '422 `body.invalid`.',
  },
  changeAttempts: {
    value: 5,
    unit: 'attempts',
    meaning: 'How often a change of a target is tried while others change it.',
    beyond: '409 `target.busy`; nothing was changed.',
  },
  comparedAtOnce: {
    value: 8,
    unit: 'streams',
    meaning: 'Streams on the air whose targets a node reads at one time, each once a second.',
    beyond: 'The others wait for their turn; meanwhile their pushes stay as they are.',
  },
  toldAtOnce: {
    value: 32,
    unit: 'pushes',
    meaning: 'Pushes of which a node stores at one time what happened to them.',
    beyond: 'The others wait for their turn.',
  },
  toldPerPush: {
    value: 16,
    unit: 'facts',
    meaning: 'Facts of one push that wait until they can be stored, as while the store does not answer.',
    beyond: 'The oldest whole connection among them is forgotten, with its events.',
  },
  factRetry: {
    value: 500,
    unit: 'ms',
    meaning: 'Wait before a fact that could not be stored is told again; doubling.',
    beyond: 'It is tried again until it is stored.',
  },
  factRetryLongest: {
    value: 5000,
    unit: 'ms',
    meaning: 'The longest such wait.',
    beyond: 'It is tried again.',
  },
  issuesPerStream: {
    value: 10,
    unit: 'targets',
    meaning: 'Targets of one stream that have trouble, as many as `issues` names.',
    beyond: 'Of the others it says how many they are.',
  },
  slowPause: {
    value: slowPause,
    unit: 'ms',
    meaning: 'How long a target that is too slow is not told to be so again, while it stays connected.',
    beyond: 'The next time is told again, by `multistream.error`.',
  },
  stopWait: {
    value: 2000,
    unit: 'ms',
    meaning: 'How long a node that stops waits for its pushes to say that they have ended.',
    beyond: 'The next process says so, with an error.',
  },
  pushesRead: {
    value: 100,
    unit: 'pushes',
    meaning:
      'Rows of pushes that are read at a time, where those of a node, of a session or all are looked for.',
    beyond: 'The next ones are read after them.',
  },
  missed: {
    value: 600_000,
    unit: 'ms',
    meaning: 'How often pushes are looked for whose session is over, as after this plugin was off.',
    beyond: 'They end, and `multistream.disconnected` is told of those that were connected.',
  },
});
