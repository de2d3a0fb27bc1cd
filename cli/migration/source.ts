/** What another platform has, in the terms of this one. */
export interface Origin {
  /** `mux` or `livepeer`: part of the tags by which moved things are found again. */
  readonly id: string;
  assets(): AsyncIterable<OldAsset>;
  streams(): AsyncIterable<OldStream>;
  webhooks(): AsyncIterable<OldWebhook>;
  /** A URL from which the film of an asset is fetched now. Rejects with `Immovable` where there is none. */
  film(asset: OldAsset): Promise<string>;
}

/** Who could watch it. `closed`: only viewers whom the owner let in, whatever the way. */
export type Audience =
  | { readonly type: 'public'; readonly allowedOrigins?: readonly string[] }
  | { readonly type: 'closed' };

interface OldThing {
  readonly id: string;
  /** Its own id and its playback ids: what viewers may know it by. */
  readonly names: readonly string[];
  readonly name: string;
  readonly audience: Audience;
  /** What is not carried over, or is different then; for the report. */
  readonly notes: readonly string[];
}

export interface OldAsset extends OldThing {
  /** Why it has no film now. */
  readonly problem?: string;
}

export interface OldStream extends OldThing {
  readonly streamKey?: string;
  readonly record: boolean;
  readonly suspended: boolean;
}

export interface OldWebhook {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  /** In the words of that platform, which are those of this one where it has them. */
  readonly events: readonly string[];
  /** Id of a stream there. */
  readonly streamId?: string;
  readonly problem?: string;
  readonly notes: readonly string[];
}

/** It cannot be moved; the message says why. */
export class Immovable extends Error {}

/** Values of an answer of another server: nothing about them is certain. */
export type Loose = Readonly<Record<string, unknown>>;

export function looseOf(value: unknown): Loose {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Loose) : {};
}

export function listOf(value: unknown): readonly Loose[] {
  return Array.isArray(value) ? value.map(looseOf) : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function textsOf(values: readonly unknown[]): readonly string[] {
  return values.filter((value): value is string => typeof value === 'string' && value !== '');
}
