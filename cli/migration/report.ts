import { facts, plain, table } from '../table.ts';

export type Outcome = 'moved' | 'already' | 'planned' | 'impossible' | 'failed';

/** What became of one thing. */
export interface Item {
  readonly kind: 'asset' | 'stream' | 'webhook';
  /** Its id on the other platform. */
  readonly from: string;
  readonly name: string;
  readonly outcome: Outcome;
  /** Its id here. */
  readonly to?: string;
  readonly playbackId?: string;
  /** Why it was not moved. */
  readonly reason?: string;
  /** What is different now. */
  readonly notes: readonly string[];
}

export interface Report {
  readonly from: string;
  readonly dryRun: boolean;
  readonly counts: Readonly<Record<Item['kind'], Readonly<Record<Outcome, number>>>>;
  readonly items: readonly Item[];
}

const outcomes: readonly Outcome[] = ['moved', 'already', 'planned', 'impossible', 'failed'];
const words: Readonly<Record<Outcome, string>> = {
  moved: 'moved',
  already: 'there already',
  planned: 'to be moved',
  impossible: 'cannot be moved',
  failed: 'failed',
};

export function reportOf(
  items: readonly Item[],
  { from, dryRun }: { from: string; dryRun: boolean },
): Report {
  const count = (kind: Item['kind']) =>
    Object.fromEntries(
      outcomes.map((outcome) => [
        outcome,
        items.filter((item) => item.kind === kind && item.outcome === outcome).length,
      ]),
    ) as Record<Outcome, number>;
  return {
    from,
    dryRun,
    counts: { asset: count('asset'), stream: count('stream'), webhook: count('webhook') },
    items,
  };
}

/** For people: how many, and then what needs their attention. */
export function textOfReport({ counts, items, dryRun }: Report): string {
  const sum = (kind: Item['kind']) => {
    const of = outcomes.filter((outcome) => counts[kind][outcome] > 0);
    return of.map((outcome) => `${counts[kind][outcome]} ${words[outcome]}`).join(', ') || 'none';
  };
  const unmoved = items.filter(({ reason }) => reason !== undefined);
  const noted = items.filter(({ notes }) => notes.length > 0);
  return [
    facts({ Assets: sum('asset'), Streams: sum('stream'), Webhooks: sum('webhook') }),
    ...(unmoved.length > 0
      ? [
          '',
          table(
            head('WHY'),
            unmoved.map((item) => row(item, plain(item.reason ?? ''))),
          ),
        ]
      : []),
    ...(noted.length > 0
      ? [
          '',
          table(
            head('DIFFERENT'),
            noted.map((item) => row(item, plain(item.notes.join('; ')))),
          ),
        ]
      : []),
    ...(dryRun ? ['', 'This was a dry run: nothing was changed.'] : []),
  ].join('\n');
}

const head = (last: string) => ['KIND', 'ID THERE', 'NAME', last];
const longestName = 40;

function row({ kind, from, name }: Item, last: string): readonly string[] {
  return [kind, from, name.slice(0, longestName), last];
}
