import { join } from 'node:path';
import type { Booted } from './boot.ts';

/** What a person sees when the server is up: what runs, where, and what to do next. */
export function welcome(options: {
  booted: Booted;
  config: { dataDir: string; bootstrapKey?: string; rtmp: { port: number } };
  publicUrl: string;
  /** The API key itself, for a terminal; undefined where it could end up in a log. */
  key: string | undefined;
  took: number;
}): string {
  const { booted, config, publicUrl, took } = options;
  const notes = Object.fromEntries(booted.plugins.map(({ id, summary }) => [id, summary]));
  const rtmp = `rtmp://${new URL(publicUrl).hostname}:${config.rtmp.port}/live`;
  const keyFile = join(config.dataDir, 'bootstrap-key');
  const place = config.bootstrapKey === undefined ? `in the file ${keyFile}` : 'the one in your config';
  const key = options.key === undefined ? place : `${options.key} (${place})`;
  const bearer = config.bootstrapKey === undefined ? `$(cat ${keyFile})` : '<your key>';
  return `
Millrace is up (${took} ms)
${booted.tree.lines(notes).join('\n')}

  API       ${publicUrl}/api
  Watch     ${publicUrl}/watch/{playbackId}
  API key   ${key}

1. Create a stream:
   curl -s ${publicUrl}/api/stream -H "Authorization: Bearer ${bearer}" -d '{"name":"First"}'
2. Broadcast to it, with its streamKey:
   OBS       Settings → Stream → Custom: server ${rtmp}, stream key <streamKey>
   ffmpeg    ffmpeg -re -i video.mp4 -c copy -f flv ${rtmp}/<streamKey>
3. Watch it at ${publicUrl}/watch/<playbackId>. Or let "npm run demo" do all three.

`;
}
