import type { PlayQuestion, PublishQuestion } from 'millrace/plugin';

/** What an endpoint is asked, in the form of a server that its author knows. */
export interface Form {
  publish(question: PublishQuestion): object;
  play(question: PlayQuestion): object;
}

/** `authHTTPAddress` of MediaMTX. */
const mediamtx: Form = {
  publish: ({ streamId, app, address, encoder = '' }) => ({
    ...{ action: 'publish', path: `${app}/${streamId}`, protocol: 'rtmp', id: streamId, ip: address },
    ...{ user: '', password: '', token: '', query: '', userAgent: encoder },
  }),
  play: (question) => ({
    ...{ action: question.kind === 'live' ? 'read' : 'playback', path: videoOf(question), protocol: 'hls' },
    ...{
      id: question.viewer,
      ip: question.address ?? '',
      user: '',
      password: '',
      token: question.token ?? '',
    },
    ...{ query: queryOf(question), userAgent: question.userAgent ?? '' },
  }),
};

/** `http_hooks` of SRS. */
const srs: Form = {
  publish: ({ streamId, app, address }) => ({
    ...{
      action: 'on_publish',
      client_id: streamId,
      ip: address,
      vhost: '__defaultVhost__',
      app,
      stream: streamId,
    },
    ...{ param: '' },
  }),
  play: (question) => ({
    ...{
      action: 'on_play',
      client_id: question.viewer,
      ip: question.address ?? '',
      vhost: '__defaultVhost__',
    },
    ...{
      app: question.kind,
      stream: videoOf(question),
      param: queryOf(question),
      pageUrl: question.origin ?? '',
    },
  }),
};

export const forms = { mediamtx, srs } as const;

/** The id that viewers know a video by. */
export function videoOf({ playbackId, sessionId, assetId }: PlayQuestion): string {
  return playbackId ?? sessionId ?? assetId ?? '';
}

/** Without what a player of low-latency HLS adds to each request. */
export function queryOf({ request }: PlayQuestion): string {
  const url = new URL(request.url);
  for (const name of [...url.searchParams.keys()])
    if (name.startsWith('_HLS_')) url.searchParams.delete(name);
  return url.search;
}
