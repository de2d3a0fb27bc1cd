import { collection } from '../../core/plugin/token.ts';
import type { LiveReading } from '../../core/ports/media.ts';

/**
 * Issues of a broadcast that another plugin finds, in plain words that do not change while the issue lasts. With any, events and
 * the history show the broadcast as not healthy. The plugin itself shows them in the `issues` of the stream.
 */
export type Concern = (reading: LiveReading, now: number) => readonly string[];

export const concerns = collection<Concern>('health.concerns');
