import { limitTable } from '../../core/limit-table.ts';

/** What an API key may hold. How many there may be is in the config. */
export const accountLimits = limitTable('accounts', {
  rules: {
    value: 20,
    unit: 'rules',
    meaning: '`access.rules` of one API key.',
    beyond: '422 `body.invalid`.',
  },
  resources: {
    value: 20,
    unit: 'resources',
    meaning: '`resources` of one access rule.',
    beyond: '422 `body.invalid`.',
  },
  resourceLength: {
    value: 200,
    unit: 'characters',
    meaning: 'One resource of an access rule.',
    beyond: '422 `body.invalid`.',
  },
  origins: {
    value: 50,
    unit: 'origins',
    meaning: '`access.cors.allowedOrigins` of one API key.',
    beyond: '422 `body.invalid`.',
  },
  originLength: {
    value: 200,
    unit: 'characters',
    meaning: 'One allowed origin.',
    beyond: '422 `body.invalid`.',
  },
  remembered: {
    value: 1000,
    unit: 'API keys',
    meaning: 'Keys whose access is kept in memory; none where there are several nodes.',
    beyond: 'The one that came first is read from the store again.',
  },
  lookAgain: {
    value: 5000,
    unit: 'ms',
    meaning: 'How often a node looks whether the key of an open event stream was deleted on another one.',
    beyond: 'The stream of a deleted key goes on for that long at most, should the node not have been told.',
  },
});
