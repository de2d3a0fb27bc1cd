import type { AnyElysia } from '../../sdk/plugin.ts';
import { studioRoutes, unsupported } from './calls.ts';
import type { StudioKit } from './config.ts';

type Call = readonly [method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, name: string];

const rooms = 'This server has no rooms. Use a conference server, and send its picture to a stream by RTMP.';
const figures =
  'This server keeps no viewership. `viewerCount` of a stream says how many watch now, /metrics counts for operators.';

const groups: readonly { readonly why: string; readonly calls: readonly Call[] }[] = [
  {
    why: 'This server does not fetch broadcasts. Send them to the stream by RTMP.',
    calls: [['POST', '/stream/:id/start-pull', 'StartPull']],
  },
  {
    why: 'This server makes no clips. Import or upload the part as an asset.',
    calls: [['POST', '/clip', 'CreateClip']],
  },
  {
    why: 'This server does not transcode from a bucket to another. Import the file with /asset/upload/url, and make renditions with /asset/transcode.',
    calls: [['POST', '/transcode', 'Transcode']],
  },
  {
    why: figures,
    calls: [
      ['GET', '/data/views/query', 'Viewership'],
      ['GET', '/data/views/query/creator', 'CreatorViewership'],
      ['GET', '/data/views/query/total/:id', 'PublicViewership'],
      ['GET', '/data/views/now', 'RealtimeViewership'],
      ['GET', '/data/usage/query', 'Usage'],
    ],
  },
  {
    why: rooms,
    calls: [
      ['POST', '/room', 'CreateRoom'],
      ['GET', '/room/:id', 'GetRoom'],
      ['DELETE', '/room/:id', 'DeleteRoom'],
      ['POST', '/room/:id/user', 'CreateRoomUser'],
      ['GET', '/room/:id/user/:userId', 'GetRoomUser'],
      ['PUT', '/room/:id/user/:userId', 'UpdateRoomUser'],
      ['DELETE', '/room/:id/user/:userId', 'DeleteRoomUser'],
      ['POST', '/room/:id/egress', 'StartRoomEgress'],
      ['DELETE', '/room/:id/egress', 'StopRoomEgress'],
    ],
  },
  {
    why: 'This server runs no AI models.',
    // The client puts `/api` before it once more.
    calls: [['POST', '/api/generate/:pipeline', 'Generate']],
  },
];

/** Calls of Studio that this server cannot carry out: each says why, and what to use instead. */
export function absentRoutes(kit: StudioKit): AnyElysia {
  const { app, declare } = studioRoutes(kit);
  for (const { why, calls } of groups)
    for (const [method, path, name] of calls)
      declare(method, path, {
        ...{ name, summary: 'Not possible here: 501 says why.', isOpen: true },
        run: async () => {
          throw unsupported(why, 501);
        },
      });
  return app;
}
