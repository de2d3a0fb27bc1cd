import { Type } from '@sinclair/typebox';
import { unlessBehind } from '../../core/base/fault.ts';
import { oneOf } from '../../core/base/schema.ts';
import type { Caller } from '../../core/http/caller.ts';
import type { Derivation, Derived } from '../../core/plugin/resource.ts';
import { stream, watchPages } from '../streams/contract.ts';
import type { RecordingsKit } from './config.ts';
import {
  isUnfinished,
  linksOf,
  type RecordingDocument,
  recordingDocument,
  recordingKind,
  recordingOf,
} from './recording.ts';

const example = 'https://video.example.com/recordings/6f1c1d52-5ad5-4c6e-9ad0-0b4f0d3ad1b8';

/** What sessions and streams with `record` true show of their recording: a stream that of its newest recorded session. */
export const recordingFields: Derivation<RecordingsKit> = {
  resource: stream,
  schemas: {
    recordingStatus: oneOf(['waiting', 'ready'], {
      description: 'Only while `record` is true: of a stream that of its newest recorded session.',
      examples: ['ready'],
    }),
    recordingReadyBy: Type.Integer({
      description:
        'Of a session that is off the air: when its recording will be ready unless it comes back, epoch ms.',
      examples: [1767225600000],
    }),
    recordingUrl: Type.String({
      description: 'HLS of the recording. Only when it is ready.',
      examples: [`${example}/index.m3u8`],
    }),
    mp4Url: Type.String({
      description: 'The recording as one file. Only when it is ready.',
      examples: [`${example}/source.mp4`],
    }),
  },
  async of({ id, parentId, record, recordingStatus }, options) {
    if (record !== true) return undefined;
    if (parentId !== undefined) return ofSession(id as string, options);
    // A stream shows its status itself: nothing is to be linked before it is ready.
    return recordingStatus === 'waiting' ? undefined : ofStream(id as string, options);
  },
};

interface Asked {
  readonly kit: RecordingsKit;
  readonly caller: Caller;
}

async function ofSession(id: string, { kit, caller }: Asked): Promise<Derived | undefined> {
  const found = await recordingOf(id, kit.resources).catch(unlessBehind);
  if (!found) return undefined;
  const { values } = told(found, caller);
  // A session that is off the air is watched at its recording.
  const watched = found.status === 'ready' && {
    playbackUrl: linksOf(id, caller).recordingUrl,
    watchUrl: kit.offered(watchPages)[0]?.(id, caller),
  };
  return { values: { ...values, ...watched, recordingReadyBy: found.readyBy }, issues: issuesOf(found) };
}

/**
 * The links, and the status of streams that were stored before they were told of their recordings. Without issues: they are of a
 * session that is over, and nothing about the stream can be mended.
 */
async function ofStream(id: string, { kit, caller }: Asked): Promise<Derived | undefined> {
  const newest = await kit.resources.find(recordingKind, 'streamId', id).catch(unlessBehind);
  return newest && told(recordingDocument(newest), caller);
}

function told(recording: RecordingDocument, caller: Caller): Derived {
  if (isUnfinished(recording)) return { values: { recordingStatus: 'waiting' } };
  if (recording.status === 'failed') return { values: {} };
  return { values: { recordingStatus: 'ready', ...linksOf(recording.sessionId, caller) } };
}

export function issuesOf({
  status,
  problem,
  missing,
  gaps,
}: Pick<RecordingDocument, 'status' | 'problem' | 'missing' | 'gaps'>): string[] {
  const issues: string[] = [];
  if (status === 'failed') issues.push(`The recording failed. ${problem}`);
  if (status === 'retrying') issues.push(`The recording is not finished yet; it is tried again. ${problem}`);
  if (missing.length > 0) {
    const names = missing.map((node) => `"${node}"`).join(', ');
    issues.push(`A part of the recording is missing: what was broadcast through ${names} could not be had.`);
  }
  if (gaps > 0) {
    const times = gaps === 1 ? 'once' : `${gaps} times`;
    issues.push(`The recording has gaps: ${times} the server could not write down what was broadcast.`);
  }
  return issues;
}
