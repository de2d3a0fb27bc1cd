import { limitTable } from '../../core/base/limit-table.ts';

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
  agreements: {
    value: 50,
    unit: 'attempts',
    meaning:
      'How often a node that starts says which bootstrap key it has, while others that start do the same.',
    beyond: 'The start fails with `node.taken`.',
  },
  holderBeat: {
    value: 6000,
    unit: 'ms',
    meaning:
      'How long a node with another bootstrap key than the others waits for a sign of life of one of them.',
    beyond:
      'They are taken for dead: its own key is the one from now on. Nodes that beat more rarely are not noticed.',
  },
  holderLook: {
    value: 500,
    unit: 'ms',
    meaning: 'How often it looks for one.',
    beyond: 'It is seen that much later.',
  },
  lookAgain: {
    value: 5000,
    unit: 'ms',
    meaning: 'How often a node looks whether the key of an open event stream was deleted on another one.',
    beyond: 'The stream of a deleted key goes on for that long at most, should the node not have been told.',
  },
});
