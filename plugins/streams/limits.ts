import { limitTable } from '../../core/base/limit-table.ts';
import { takeoverBrake } from '../../machines/broadcast-context.ts';

export const streamLimits = limitTable('streams', {
  returnWait: {
    value: 8000,
    unit: 'ms',
    meaning: 'How long a playlist request waits for a broadcast that is expected back after a restart.',
    beyond: '404 `playback.not_live` with `Retry-After`.',
  },
  factRetry: {
    value: 500,
    unit: 'ms',
    meaning:
      'Wait before what the media reported is told to the broadcast again, when that failed; doubling.',
    beyond:
      'It is tried again until it is told. Newer figures of a publish take the place of those that wait.',
  },
  factRetryLongest: {
    value: 5000,
    unit: 'ms',
    meaning: 'The longest such wait.',
    beyond: 'It is tried again.',
  },
  abandonAgain: {
    value: 15_000,
    unit: 'ms',
    meaning:
      'When a publish whose admission got no answer is closed again, in case it was let in late; once more after four times that.',
    beyond: 'Should it be let in later still, it ends when another takes over, or with its node.',
  },
  lostPublishes: {
    value: 1000,
    unit: 'streams',
    meaning: 'Streams that a lost process fed, as many as are told of it in one go.',
    beyond: 'The rest follow in the next go.',
  },
  publishInterval: {
    value: 1000,
    unit: 'ms',
    meaning: 'How often live figures are read from the media and published.',
    beyond: 'They are that old at most.',
  },
  figuresLast: {
    value: 5000,
    unit: 'ms',
    meaning: 'How long others believe live figures: longer than a process may be busy with something else.',
    beyond: 'The figures of the row count, which are older.',
  },
  attachTime: {
    value: 15_000,
    unit: 'ms',
    meaning: 'How long after the last publish was let in live figures are looked for.',
    beyond: 'They are not read any more until the next publish.',
  },
  turnLength: {
    value: 50,
    unit: 'broadcasts',
    meaning: 'Broadcasts whose live figures are looked at in one turn of the event loop, some 10 µs each.',
    beyond: 'The rest follow in the next turn.',
  },
  mostIssues: {
    value: 20,
    unit: 'issues',
    meaning:
      'Issues of one broadcast that are published with its live figures, and as many of what becomes of it elsewhere.',
    beyond: 'Further ones are left out.',
  },
  viewerLength: {
    value: 512,
    unit: 'characters',
    meaning: 'What tells a viewer from others: an id or an address and the name of the player.',
    beyond: 'Whoever differs only there is the same viewer.',
  },
  refusalShown: {
    value: 60_000,
    unit: 'ms',
    meaning: 'How long an issue tells of a newcomer that was refused because the key is in use.',
    beyond: 'It is gone from `issues`.',
  },
  takeovers: {
    value: takeoverBrake.takeovers,
    unit: 'takeovers',
    meaning: 'Takeovers of one running broadcast within `takeoverWindow`.',
    beyond: 'Newcomers are refused for `takeoverPause`, and an issue says so.',
  },
  takeoverWindow: {
    value: takeoverBrake.window,
    unit: 'ms',
    meaning: 'The time in which takeovers are counted.',
    beyond: 'A takeover no longer counts.',
  },
  takeoverPause: {
    value: takeoverBrake.pause,
    unit: 'ms',
    meaning: 'How long nobody may take over after too many takeovers.',
    beyond: 'The next newcomer may.',
  },
});
