import type { RowText } from '../../core/ports/store.ts';
import type { DerivationSet, FieldSet, FieldValues } from '../../core/resource.ts';
import { streamLimits } from './limits.ts';
import { figuresOf } from './present.ts';
import { piecesOf } from './row-pieces.ts';

/**
 * The answer for a stream at rest as JSON, put together of the text of its row and of what its fields say: the same as `presentLive`
 * shows, without an object being made of either. Undefined for all other rows, and where plugins tell something of the stream.
 */
export function answersAtRest(options: {
  fields: FieldSet;
  derived: DerivationSet;
}): (row: RowText) => string | undefined {
  const { value: most } = streamLimits.fieldSets;
  const { value: longest } = streamLimits.fieldSetLength;
  // Many streams have the same fields. What they say is made of their text and of what stays the same for as long as the process
  // lives: no row is remembered here, nor anything that a change could leave behind.
  const known = new Map<string, Said>();
  let last: Said | undefined;
  const saidBy = (text: string): Said => {
    const found = text === last?.text ? last : known.get(text);
    if (!found && text.length > longest) return fieldsSay(text, options);
    last = found ?? remembered(text);
    return last;
  };
  const remembered = (piece: string): Said => {
    // A copy: a piece holds on to the whole text that it was cut out of.
    const said = fieldsSay(Buffer.from(piece).toString(), options);
    const [oldest] = known.size < most ? [] : known.keys();
    if (oldest !== undefined) known.delete(oldest);
    known.set(said.text, said);
    return said;
  };
  return ({ body }) => {
    const pieces = piecesOf(body, last?.text);
    const said = pieces && saidBy(pieces.fields).json;
    if (!said) return undefined;
    const { start, figures, settings, userTags } = pieces;
    const end = figures === undefined ? said.withoutMedia : `,${figuresSay(figures)}${said.alone}`;
    // `settings` begins with the account. What plugins add comes last, and so wins, as in the object.
    return `${start},"userId":${settings}${userTags}${end}`;
  };
}

interface Said {
  /** The stored values of the fields. */
  readonly text: string;
  /** What is shown of a stream at rest that has them, and the end of its JSON. Undefined: the whole stream must be looked at. */
  readonly json?: {
    readonly alone: string;
    /** With the figures of a stream that never had media. */
    readonly withoutMedia: string;
  };
}

function fieldsSay(text: string, { fields, derived }: { fields: FieldSet; derived: DerivationSet }): Said {
  const stored = parsed(`{${text}}`);
  if (!stored) return { text };
  const shown = fields.present(stored.fields);
  const said = { kind: 'stream', isActive: false, issues: fields.issues(shown), ...shown };
  if (!derived.isSilent(said)) return { text };
  const alone = `,${JSON.stringify(said).slice(1)}`;
  return { text, json: { alone, withoutMedia: `,${noFigures}${alone}` } };
}

/** Undefined for a text that was cut off within `fields`. */
function parsed(text: string): { fields: FieldValues } | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function figuresSay(text: string): string {
  return inside(figuresOf(JSON.parse(`{${text}}`)));
}

/** JSON of an object without its braces. */
function inside(object: object): string {
  return JSON.stringify(object).slice(1, -1);
}

const none = { bytes: 0, segments: 0, duration: 0 };
const noFigures = inside(figuresOf({ lastMediaAt: 0, past: none, current: none }));
