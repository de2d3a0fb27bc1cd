import type { Plugin } from '../../core/plugin/plugin.ts';
import type { Offer } from '../../core/plugin/token.ts';

/** Keys of a plugin that are lists, objects by name, functions. */
const lists = ['needs', 'provides', 'resources', 'extends', 'derives', 'offers', 'actors'] as const;
const objects = [
  'config',
  'emits',
  'orders',
  'effects',
  'faults',
  'reactions',
  'duties',
  'decides',
  'drivers',
  'errors',
] as const;
const functions = [
  ...(['contradictions', 'lostNode', 'media', 'routes', 'nodeRoutes', 'start'] as const),
  ...(['hosts', 'rtmpApps'] as const),
];

/** Entries of these are functions too. */
const functionsByName = ['orders', 'reactions', 'duties', 'drivers'] as const;

/** What is malformed in the declaration of a plugin that was not written in TypeScript, or not checked. */
export function shapeProblems(plugin: Plugin): string[] {
  const isThere = (key: keyof Plugin) => plugin[key] !== undefined;
  const isObject = (value: unknown) => value !== null && typeof value === 'object' && !Array.isArray(value);
  const wrong = [
    ...(['id', 'summary'] as const)
      .filter((key) => typeof plugin[key] !== 'string')
      .map((key) => `${key}: expected a text`),
    ...lists
      .filter((key) => isThere(key) && !Array.isArray(plugin[key]))
      .map((key) => `${key}: expected a list`),
    // Modules that import each other give each other undefined.
    ...lists.flatMap((key) =>
      (Array.isArray(plugin[key]) ? [...plugin[key]] : [])
        .flatMap((entry, index) => (isObject(entry) ? [] : [index]))
        .map((index) => `${key}[${index}]: expected an object`),
    ),
    ...(Array.isArray(plugin.offers) ? [...plugin.offers] : [])
      .map((entry, index) => ({ entry: entry as Partial<Offer> | undefined, index }))
      .filter(({ entry }) => isObject(entry) && typeof entry?.to?.id !== 'string')
      .map(({ index }) => `offers[${index}].to: expected a collection`),
    ...objects
      .filter((key) => isThere(key) && !isObject(plugin[key]))
      .map((key) => `${key}: expected an object`),
    ...functions
      .filter((key) => isThere(key) && typeof plugin[key] !== 'function')
      .map((key) => `${key}: expected a function`),
    ...Object.entries(isObject(plugin.emits) ? (plugin.emits as object) : {})
      .filter(([, said]) => typeof said !== 'string' && typeof said?.meaning !== 'string')
      .map(([name]) => `emits.${name}: expected a sentence, or an object with one as its meaning`),
    ...(isThere('errors') && isObject(plugin.errors) && typeof plugin.errors?.answer !== 'function'
      ? ['errors.answer: expected a function']
      : []),
    ...functionsByName.flatMap((key) =>
      Object.entries(isObject(plugin[key]) ? (plugin[key] as object) : {})
        .filter(([, value]) => typeof value !== 'function')
        .map(([name]) => `${key}.${name}: expected a function`),
    ),
  ];
  return wrong.map((problem) => `plugin ${String(plugin.id)}: ${problem}`);
}
