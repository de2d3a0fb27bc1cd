import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { exampleId } from '../../core/base/ids.ts';
import { storedKinds } from '../../core/http/account-limits.ts';
import { authenticator } from '../../core/http/auth.ts';
import { bodyReader } from '../../core/http/body.ts';
import { says } from '../../core/http/http.ts';
import { keyedRoutes } from '../../core/http/keyed.ts';
import { nothing } from '../../core/http/operation.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { field } from '../../core/plugin/resource.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { assets, films } from '../assets/contract.ts';
import { playables } from '../playback/contract.ts';
import { type PublishTerms, publishTerms, setFieldsFaults, stream, streams } from '../streams/contract.ts';
import { taskKinds, tasks } from '../tasks/contract.ts';
import { bytesRecorded } from './bytes-recorded.ts';
import { config } from './config.ts';
import { recordingFields } from './derived-fields.ts';
import { abandonEffect, clearEffect, finishCounts, finishEffect, recordingTasks } from './finish.ts';
import { assetDeleted, isRecorded, sessionChanged, sessionStarted } from './follow.ts';
import { playbackFaults, playbackRoutes, recordedPlayable } from './playback.ts';
import { reconciling } from './reconcile.ts';
import { folderOf, recording, recordingKind } from './recording.ts';
import { recordingFileRoutes } from './recording-files.ts';
import { sweeping } from './sweep.ts';

const recordSchema = Type.Boolean({ description: 'Whether new sessions are recorded.' });

/** Payload of `recording.ready`, as an example. */
const readyExample = {
  recordingUrl: `https://example.com/recordings/${exampleId}/index.m3u8`,
  mp4Url: `https://example.com/recordings/${exampleId}/source.mp4`,
  session: { id: exampleId, kind: 'stream', parentId: exampleId },
  assetId: exampleId,
};

/** What is broadcast is written down where `record` says so, and becomes an asset when its session is over. */
export default definePlugin({
  id: 'recordings',
  summary: 'sessions are recorded, and recordings become assets',
  config,
  needs: [authenticator, streams, assets, films, tasks, services.recorder],
  extends: [field(stream, 'record', { schema: recordSchema, initial: false })],
  derives: [recordingFields],
  offers: [
    offer(
      publishTerms,
      (): PublishTerms => (session) =>
        isRecorded(session) ? { recording: { folder: folderOf(session.id) } } : {},
    ),
    offer(playables, recordedPlayable),
    offer(storedKinds, () => ({ kind: recordingKind })),
    offer(storedKinds, () => ({ kind: stream.kind, bytes: bytesRecorded })),
    offer(taskKinds, () => recordingTasks),
  ],
  actors: [recording],
  emits: {
    'recording.started': { meaning: 'A session that is recorded is on the air.', hasStream: true },
    'recording.waiting': {
      meaning:
        'A recorded stream is off the air; its recording is finished when it does not come back in time.',
      hasStream: { isActive: false },
    },
    'recording.ready': {
      meaning: 'A recording can be watched and downloaded; `payload` says where.',
      ...{ payload: readyExample, hasStream: true },
    },
  },
  effects: {
    'recording.finish': finishEffect,
    'recording.clear': clearEffect,
    'recording.abandon': abandonEffect,
  },
  faults: playbackFaults,
  reactions: {
    'session.started': sessionStarted,
    'session.idle': sessionChanged('idle'),
    'session.over': sessionChanged('over'),
    'asset.deleted': assetDeleted,
  },
  nodeRoutes: recordingFileRoutes,
  duties: { catchUp: reconciling },
  start(kit) {
    // Shown from the first, as 0.
    finishCounts(kit.metrics);
    return sweeping(kit);
  },
  routes(kit) {
    const { keyed } = keyedRoutes(kit);
    const body = bodyReader({ record: Type.Boolean() });
    return new Elysia().use(playbackRoutes(kit)).patch(
      '/api/stream/:id/record',
      keyed(async ({ request, params, principal }) => {
        const { record } = await body.read(request);
        await kit.use(streams).setFields(principal, { id: params.id, fields: { record } });
        return new Response(null, { status: 204 });
      }),
      says('Sets whether new sessions are recorded. 204.', {
        name: 'setRecord',
        body,
        answers: { 204: nothing },
        faults: setFieldsFaults,
      }),
    );
  },
});
