import { Fault } from '../base/fault.ts';
import type { Kit } from '../plugin/plugin.ts';
import { collection } from '../plugin/token.ts';
import type { StoredResource } from '../ports/store.ts';

/** What one account may have or use. Names of the API; they do not change. */
export const limitNames = [
  'streams',
  'assets',
  'storedBytes',
  'broadcasts',
  'liveBytes',
  'encodingSeconds',
  'webhooks',
  'webhookAttempts',
] as const;
export type LimitName = (typeof limitNames)[number];

/** The limits of accounts. All Faults are `account.limit` (409). */
export interface AccountLimits {
  /** Null: none. No promise while it is remembered. */
  of(account: string, name: LimitName): number | null | Promise<number | null>;
  /**
   * Bytes are about to be stored. Throws when they do not fit. `isTaken`: they are stored now, and count from now on; otherwise it is
   * only asked whether they would fit.
   */
  store(account: string, options: { bytes: number; isTaken: boolean }): Promise<void>;
  /** Why a broadcast may not begin, for its encoder; undefined: it may. One that goes on always may. */
  publish(broadcast: BeginningBroadcast): Promise<string | undefined>;
  /** Counts an attempt to call a webhook at this host. False: it is to be made later. */
  attempt(account: string, host: string): Promise<boolean>;
  /** Bytes that still fit. */
  room(account: string): Promise<number>;
  /** So many seconds of media are about to be encoded. Throws when the account has used up its own. */
  encode(account: string, seconds: number): Promise<void>;
  /** So many seconds of media were encoded, as they came. */
  encoded(account: string, seconds: number): void;
}

export interface BeginningBroadcast {
  readonly streamId: string;
  readonly account: string;
  readonly isRecorded: boolean;
}

/** One where the plugin is on. */
export const accountLimits = collection<AccountLimits>('limits.accounts');

/** How much an account has of something. */
export interface Usage {
  readonly name: LimitName;
  /** Of all nodes. */
  used(account: string): Promise<number>;
}

/** What plugins count for `GET /api/account/usage`. */
export const usages = collection<Usage>('limits.usages');

/** Rows that count as bytes of their account. */
export interface StoredKind {
  readonly kind: string;
  /** Bytes that count for a row. Default: those of its document. */
  bytes?(row: StoredResource): number;
}

export const storedKinds = collection<StoredKind>('limits.stored');

/** The limits of accounts; undefined where there are none. */
export function accountLimitsOf({ offered }: Pick<Kit, 'offered'>): AccountLimits | undefined {
  return offered(accountLimits)[0];
}

/** Fault `account.limit` (409): names the limit, the use and the bound. */
export function overLimit(
  name: LimitName,
  { used, limit, more = 1 }: { used: number; limit: number; more?: number },
): Fault {
  const added = more === 1 ? '' : ` ${more} more do not fit.`;
  const message = `${name}: this account uses ${used} of ${limit} ${units[name]}.${added} ${remedies[name]}`;
  // A repeat by itself changes nothing.
  return new Fault('account.limit', { status: 409, message, retry: false });
}

const units: Readonly<Record<LimitName, string>> = {
  streams: 'streams',
  assets: 'assets',
  storedBytes: 'bytes',
  broadcasts: 'broadcasts at one time',
  liveBytes: 'bytes of live memory on a node',
  encodingSeconds: 'seconds of encoding in this calendar month',
  webhooks: 'webhooks',
  webhookAttempts: 'webhook attempts a minute to one host',
};
const some = 'Delete some, or ask the operator of this server for more.';
const remedies: Readonly<Record<LimitName, string>> = {
  streams: some,
  assets: some,
  storedBytes: 'Delete assets, recordings or streams, or ask the operator of this server for more.',
  broadcasts: 'End one, or ask the operator of this server for more.',
  liveBytes: 'End a broadcast or lower its bitrate, or ask the operator of this server for more.',
  encodingSeconds: 'Wait for the next month, or ask the operator of this server for more.',
  webhooks: some,
  webhookAttempts: 'Wait a minute, or ask the operator of this server for more.',
};

export function documentBytes({ body }: Pick<StoredResource, 'body'>): number {
  return Buffer.byteLength(body);
}
