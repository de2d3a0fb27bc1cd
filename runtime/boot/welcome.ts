import { join } from 'node:path';
import type { Role } from '../../core/plugin/nodes.ts';
import type { Booted } from './boot.ts';

/** What a person sees when the server is up: what runs, where, and what to do next, as far as this node does it. */
export function welcome(options: {
  booted: Booted;
  config: {
    dataDir: string;
    bootstrapKey?: string;
    rtmp: { port: number };
    roles: readonly Role[];
    outbound: { allow?: readonly string[] };
  };
  publicUrl: string;
  /** The API key itself, for a terminal; undefined where it could end up in a log. */
  key: string | undefined;
  /** Signs in to the dashboard once; like the key, for a terminal. */
  link: string | undefined;
  /** The program runs in a checkout of its repository: an npm package has no scripts and no demo. */
  isCheckout: boolean;
  took: number;
}): string {
  const { booted, config, publicUrl, took } = options;
  const notes = Object.fromEntries(booted.plan.map(({ plugin: { id, summary } }) => [id, summary]));
  const rtmp = `rtmp://${new URL(publicUrl).hostname}:${config.rtmp.port}/live`;
  const keyFile = join(config.dataDir, 'bootstrap-key');
  const place = config.bootstrapKey === undefined ? `in the file ${keyFile}` : 'the one in your config';
  const key = options.key === undefined ? place : `${options.key} (${place})`;
  const bearer = config.bootstrapKey === undefined ? `$(cat ${keyFile})` : '<your key>';
  const api = `  API       ${publicUrl}/api\n`;
  const { roles } = config;
  const [isApi, isMedia] = [roles.includes('api'), roles.includes('media')];
  const hasDashboard = booted.plan.some(({ plugin: { id } }) => id === 'dashboard');
  const once = options.link && `${options.link}  (signs you in, once, within 5 minutes)`;
  const dashboard = isApi && hasDashboard ? `  Dashboard ${once ?? `${publicUrl}/`}\n` : '';
  const keyLine = `  API key   ${key}\n`;
  const steps = [
    `Create a stream:
   curl -s ${publicUrl}/api/stream -H "Authorization: Bearer ${bearer}" -d '{"name":"First"}'`,
    `Broadcast to it, with its streamKey:
   OBS       Settings → Stream → Custom: server ${rtmp}, stream key <streamKey>
   ffmpeg    ffmpeg -re -i video.mp4 -c copy -f flv ${rtmp}/<streamKey>
   Send a key frame every 2 s: in OBS Settings → Output → Keyframe Interval 2 s, with an ffmpeg that encodes
   -g 60 at 30 frames a second (x264: keyint=60).`,
    `Watch it at ${publicUrl}/watch/<playbackId>.${options.isCheckout ? ' Or let "npm run demo" do all three.' : ''}`,
  ];
  const told = isApi && isMedia ? steps.map((step, at) => `${at + 1}. ${step}`) : [];
  const part = `  Roles     ${roles.join(', ')}; the other nodes do the rest\n`;
  const broadcast = isMedia ? `  Broadcast ${rtmp}/<streamKey>\n` : '';
  return `
Millrace is up (${took} ms)
${booted.lines(notes).join('\n')}

${dashboard}${isApi ? api : ''}${told.length > 0 ? '' : broadcast}  Watch     ${publicUrl}/watch/{playbackId}
${isApi ? keyLine : ''}  Outbound  ${outboundText(config.outbound)}
${told.length > 0 ? `\n${told.join('\n')}\n` : part}
`;
}

/** What webhooks, imports, exports and pushes may reach beside public addresses. */
function outboundText({ allow }: { allow?: readonly string[] }): string {
  if (allow === undefined)
    return 'this machine for the admin account, public addresses for all (outbound.allow)';
  if (allow.length === 0) return 'public addresses only (outbound.allow)';
  return `${allow.join(', ')} and public addresses, for all accounts (outbound.allow)`;
}
