import { fairTurn } from '../base/fair-turns.ts';
import type { StoredResource } from '../ports/store.ts';

/** Characters of the documents that are shown in one turn of the event loop: a millisecond. */
const inTurn = 131_072;
/** Characters of an answer that is sent in pieces: until then it takes its memory twice. */
const large = 1_048_576;
const jsonType = 'application/json;charset=utf-8';

interface Shown {
  /** Whose turn it is. */
  readonly account: string;
  readonly headers: Headers;
  present(row: StoredResource): unknown;
  /** Called when nothing of a large answer is in memory any more. */
  sent?(): void;
}

/**
 * Answers with rows as they are shown, a JSON array. Those of many or large rows are made piece by piece, so that others are served
 * meanwhile.
 */
export async function rowsAnswer(rows: readonly StoredResource[], shown: Shown): Promise<Response> {
  const { account, headers, present, sent = () => {} } = shown;
  const [first = [], ...others] = batches(rows);
  const some = await Promise.all(first.map(present));
  if (others.length === 0) return Response.json(some, { headers });
  const texts = [JSON.stringify(some).slice(1, -1)];
  for (const batch of others) {
    await fairTurn(account);
    texts.push(JSON.stringify(await Promise.all(batch.map(present))).slice(1, -1));
  }
  headers.set('content-type', jsonType);
  const characters = texts.reduce((sum, text) => sum + text.length, 0);
  if (characters < large) return new Response(`[${texts.join(',')}]`, { headers });
  const pieces = await encoded(texts, account);
  headers.set('content-length', String(pieces.reduce((sum, { length }) => sum + length, 0)));
  return new Response(inPieces(pieces, sent), { headers });
}

/** Rows by what is shown in one turn. */
function batches(rows: readonly StoredResource[]): StoredResource[][] {
  const all: StoredResource[][] = [];
  let characters = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    if (characters > inTurn) {
      all.push([]);
      characters = 0;
    }
    all.at(-1)?.push(row);
    characters += row.body.length;
  }
  return all;
}

async function encoded(texts: string[], account: string): Promise<Uint8Array[]> {
  const pieces: Uint8Array[] = [];
  const encoder = new TextEncoder();
  const last = texts.length - 1;
  for (const [index, text] of texts.entries()) {
    if (index > 0) await fairTurn(account);
    pieces.push(encoder.encode(`${index === 0 ? '[' : ','}${text}${index === last ? ']' : ''}`));
    texts[index] = '';
  }
  return pieces;
}

function inPieces(pieces: Uint8Array[], sent: () => void): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      pull(controller) {
        const piece = pieces.shift();
        if (piece) return controller.enqueue(piece);
        controller.close();
        sent();
      },
      cancel() {
        pieces.length = 0;
        sent();
      },
    },
    { highWaterMark: 0 },
  );
}
