/** Shows JSON schemas as people read them: a line for each field. */

const deepest = 8;
let root = {};

/** The document that references point into. */
export function useDocument(document) {
  root = document;
}

/** What a `$ref` stands for; anything else is itself. */
export function resolved(schema) {
  if (!schema?.$ref) return schema ?? {};
  return (
    schema.$ref
      .slice(2)
      .split('/')
      .reduce((place, name) => place?.[name], root) ?? {}
  );
}

/** An element; `attributes` are set as attributes, children are text or elements. */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === 'function') made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, '');
    else if (value !== false && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== ''));
  return made;
}

/** Plain text with `code` in it. */
export function words(text) {
  return (text ?? '').split('`').map((part, index) => (index % 2 === 1 ? element('code', {}, part) : part));
}

export function codeBlock(value) {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  return element('pre', { tabindex: '0' }, element('code', {}, text));
}

/** The fields of an object, of the objects in an array, or one line for anything else. */
export function fields(schema, depth = 0) {
  const plain = resolved(schema);
  if (depth > deepest) return element('p', {}, '…');
  if (plain.type === 'array' && isDeep(plain.items)) return fields(plain.items, depth + 1);
  if (plain.anyOf?.some(isDeep)) {
    return element(
      'div',
      {},
      plain.anyOf.flatMap((choice, index) => [
        element('p', { class: 'or' }, index === 0 ? 'One of' : 'or'),
        isDeep(choice) ? fields(choice, depth + 1) : element('p', {}, typeOf(choice)),
      ]),
    );
  }
  if (!plain.properties) return element('p', { class: 'type' }, typeOf(plain));
  const required = new Set(plain.required ?? []);
  return element(
    'ul',
    { class: 'fields' },
    Object.entries(plain.properties).map(([name, one]) =>
      element('li', {}, line({ name, schema: one, isRequired: required.has(name) }), nested(one, depth)),
    ),
  );
}

/** Name, type, bounds and meaning of one value. */
export function line({ name, schema, isRequired, description }) {
  const plain = resolved(schema);
  const meaning = description ?? schema.description ?? plain.description;
  return element(
    'div',
    { class: 'field' },
    element('code', { class: 'name' }, name),
    ' ',
    element('span', { class: 'type' }, typeOf(schema)),
    isRequired ? element('span', { class: 'required' }, 'required') : '',
    bounds(plain).map((bound) => element('span', { class: 'bound' }, bound)),
    meaning ? element('p', {}, words(meaning)) : '',
  );
}

function nested(schema, depth) {
  if (!isDeep(schema)) return '';
  return element('details', {}, element('summary', {}, 'its fields'), fields(schema, depth + 1));
}

/** Whether it has fields of its own. */
function isDeep(schema) {
  const plain = resolved(schema);
  if (plain.type === 'array') return isDeep(plain.items ?? {});
  return plain.properties !== undefined || plain.anyOf?.some(isDeep) === true;
}

function typeOf(schema) {
  const plain = resolved(schema);
  const name = schema.$ref?.split('/').at(-1);
  if (name) return name;
  if (plain.const !== undefined) return JSON.stringify(plain.const);
  if (plain.enum) return plain.enum.map((value) => JSON.stringify(value)).join(' | ');
  if (plain.anyOf) return plain.anyOf.map(typeOf).join(' | ');
  if (plain.type === 'array') return `array of ${typeOf(plain.items ?? {})}`;
  const [values] = Object.values(plain.patternProperties ?? {});
  if (values) return `object of ${typeOf(values)}`;
  return plain.type ?? 'anything';
}

function bounds(schema) {
  const range = (least, most, unit) => {
    if (least === undefined && most === undefined) return [];
    if (most === undefined) return [`at least ${least}${unit}`];
    return [least === undefined ? `at most ${most}${unit}` : `${least} to ${most}${unit}`];
  };
  return [
    ...range(schema.minimum, schema.maximum, ''),
    ...range(schema.minLength, schema.maxLength, ' characters'),
    ...range(schema.minItems, schema.maxItems, ' entries'),
    ...range(schema.minProperties, schema.maxProperties, ' fields'),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ];
}
