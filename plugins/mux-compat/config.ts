import { type Kit, Type } from '../../sdk/plugin.ts';

const host = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 253, description, examples: ['stream.example.com'] }));

export const config = Type.Object({
  path: Type.String({
    default: '/mux',
    pattern: '^(/[A-Za-z0-9_-]+)+$',
    description: 'Path of this API: the `baseURL` of clients is the URL of the server and this path.',
  }),
  streamHost: host('Host name of playlists: `https://<streamHost>/{playbackId}.m3u8`.'),
  imageHost: host('Host name of pictures: `https://<imageHost>/{playbackId}/thumbnail.jpg`.'),
});

export type MuxKit = Kit<typeof config>;
