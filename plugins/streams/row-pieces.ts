import { uuidLength } from '../../core/ids.ts';

/** Pieces of the text of a row, each of some keys with their values as `rowText` of `document.ts` writes them. */
export interface RowPieces {
  /** `{"id":…,"createdAt":…`, this one in seconds. */
  readonly start: string;
  /** `"lastMediaAt":…` to `current`; undefined where no media ever came. */
  readonly figures: string | undefined;
  /** What comes behind `"account":`, that is its value, `name` and all that is shown up to `fields`. */
  readonly settings: string;
  /** `"fields":…`, if `fields` has no key `userTags` inside of it: else a part of that, which is no JSON in braces. */
  readonly fields: string;
  /** `,"userTags":…`, without the brace that ends the text. */
  readonly userTags: string;
}

/**
 * The pieces of the row of a stream at rest: nobody broadcasts, is waited for, connects, or is kept off. Undefined for all else, sessions
 * among it, and for rows from before this order. `likely`: the `fields` of another row; where they are the same they are the piece,
 * and their end need not be looked for.
 *
 * A key that is looked for is found where it stands, whatever names and tags say: a quote within a text has a backslash before
 * it, so `,"fields":` is a key, and in front of `fields` there is no object whose keys a client or a plugin chooses. Behind it
 * there may be: see `RowPieces.fields`.
 */
export function piecesOf(body: string, likely = ''): RowPieces | undefined {
  if (!body.startsWith(atRest, startLength)) return undefined;
  const figuresAt = startLength + atRest.length;
  const isNew = body.startsWith(neverOn, figuresAt);
  const sessionAt = isNew ? 0 : body.indexOf(',"sessionId":', figuresAt);
  const settingsAt = isNew
    ? figuresAt + neverOn.length
    : body.indexOf(accountKey, sessionAt) + accountKey.length;
  const fieldsAt = body.indexOf(',"fields":', settingsAt) + 1;
  const likelyEnd = fieldsAt + likely.length;
  const isLikely = body.startsWith(likely, fieldsAt) && body.startsWith(tagsKey, likelyEnd);
  const tagsAt = isLikely ? likelyEnd : body.indexOf(tagsKey, fieldsAt);
  return {
    start: body.slice(0, startLength - milliseconds),
    figures: isNew ? undefined : body.slice(figuresAt - lastMediaKey.length, sessionAt),
    settings: body.slice(settingsAt, fieldsAt - 1),
    fields: isLikely ? likely : body.slice(fieldsAt, tagsAt),
    userTags: body.slice(tagsAt, -1),
  };
}

const milliseconds = '000'.length;
/** Of ids and times as this program makes them; the text of others goes on elsewhere. */
const startLength = `{"id":"","createdAt":${Date.UTC(2026, 0)}`.length + uuidLength;
const lastMediaKey = '"lastMediaAt":';
const accountKey = ',"account":';
const tagsKey = ',"userTags":';
// Nothing comes between these when there is no `brakedUntil`.
const atRest = `,"parentId":null,"isActive":false,"isHeld":false,"token":null,"incarnation":null,${lastMediaKey}`;
const nothing = '{"bytes":0,"segments":0,"duration":0}';
const neverOn = `0,"past":${nothing},"current":${nothing},"sessionId":null,"feeder":null,"nodes":[]${accountKey}`;
