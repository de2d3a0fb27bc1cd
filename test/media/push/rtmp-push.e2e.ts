import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FlvTag, readFlvFile, readFlvTags } from '../../../demo/flv-file.ts';
import { encodeAmf0 } from '../../../runtime/media/rtmp/amf0.ts';
import { until } from '../../e2e/harness/wait.ts';
import { findFreePorts } from '../../kit/free-ports.ts';
import { framed, pushTo } from './rtmp-kit.ts';

const program = '/usr/sbin/nginx';
const module = '/usr/lib/nginx/modules/ngx_rtmp_module.so';
const isMissing = !existsSync(program) || !existsSync(module);
if (isMissing) console.error('SKIPPED: tests that need nginx-rtmp. Try: sh scripts/e2e-setup.sh');

const run = promisify(execFile);
const types = { audio: 8, video: 9, script: 18 } as const;

describe.skipIf(isMissing)('nginx-rtmp', () => {
  let nginx: ChildProcess;
  let port: number;
  const folder = mkdtempSync(join(tmpdir(), 'millrace-push-'));

  beforeAll(async () => {
    const [rtmp, http] = await findFreePorts(2);
    port = rtmp;
    writeFileSync(join(folder, 'nginx.conf'), configuration({ folder, rtmp, http }));
    nginx = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf')], { stdio: 'inherit' });
    const isUp = () =>
      fetch(`http://127.0.0.1:${http}/`).then(
        () => true,
        () => false,
      );
    await until('nginx', isUp, { within: 30_000, every: 50 });
  });
  afterAll(async () => {
    if (nginx !== undefined && nginx.exitCode === null) {
      nginx.kill('SIGKILL');
      await once(nginx, 'exit');
    }
    rmSync(folder, { recursive: true, force: true });
  });

  const recorded = (key: string) => readdirSync(folder).filter((name) => name === `${key}.flv`);

  test('records every picture and sound that is pushed to it', async () => {
    const tags = readFlvTags(await Bun.file('demo/clip.flv').bytes());
    const push = pushTo(`rtmp://127.0.0.1:${port}/live/whole?token=x`);
    await push.opened();
    await sendAll(push, tags);
    push.connection?.leave();
    await until('the recording', () => recorded('whole').length === 1, { within: 30_000 });
    const path = join(folder, 'whole.flv');
    const wanted = await packets('demo/clip.flv');
    await until('its end', async () => (await packets(path)).length >= wanted.length, { within: 30_000 });
    // Each packet with its time and its size, picture by picture and sound by sound.
    expect(await packets(path)).toEqual(wanted);
    expect((await readFlvFile(path)).frames).toBe((await readFlvFile('demo/clip.flv')).frames);
  });

  test('takes pictures of several chunks, and times beyond 24 bits', async () => {
    const [header, ...tags] = readFlvTags(await Bun.file('demo/clip.flv').bytes()).filter(
      ({ type }) => type === 'video',
    );
    const push = pushTo(`rtmp://127.0.0.1:${port}/live/late`);
    await push.opened();
    const late = 0xffffff - 500;
    const large = tags.map((tag) => {
      // Filler data behind the picture (H.264, 7.4.2.7), as a NAL unit of its own.
      const filler = Buffer.alloc(200_000, 0xff);
      filler.writeUInt32BE(filler.length - 4);
      filler[4] = 12;
      return { ...tag, timestamp: tag.timestamp + late, body: Buffer.concat([tag.body, filler]) };
    });
    await sendAll(push, [{ ...header, timestamp: late }, ...large.slice(0, 60)]);
    push.connection?.leave();
    const path = join(folder, 'late.flv');
    await until('the recording', () => recorded('late').length === 1, { within: 30_000 });
    await until('its end', async () => (await packets(path)).length >= 60, { within: 30_000 });
    const sizes = (await packets(path)).map((line) => Number(line.split('|').at(-1)?.replace('size=', '')));
    expect(sizes).toHaveLength(60);
    expect(Math.min(...sizes)).toBeGreaterThan(200_000);
  });

  test('refuses a second publisher of the same stream, and says so', async () => {
    const first = pushTo(`rtmp://127.0.0.1:${port}/live/taken`);
    await first.opened();
    const second = pushTo(`rtmp://127.0.0.1:${port}/live/taken`);
    const trouble = await second.ended();
    expect(trouble).toMatchObject({ reason: 'rejected', message: expect.stringContaining('BadName') });
    first.abort();
  });

  test('refuses by on_publish, and an app that it does not have', async () => {
    const refused = await pushTo(`rtmp://127.0.0.1:${port}/closed/secret`).ended();
    const unknown = await pushTo(`rtmp://127.0.0.1:${port}/nowhere/secret`).ended();
    // It just closes.
    expect(refused).toMatchObject({ reason: 'closed', message: expect.stringContaining('a wrong key') });
    expect(unknown).toMatchObject({ reason: 'closed', message: expect.not.stringContaining('key') });
  });
});

async function sendAll(push: ReturnType<typeof pushTo>, tags: readonly FlvTag[]): Promise<void> {
  const { connection } = push;
  if (!connection) throw new Error('the push is not open');
  for (const { type, timestamp, body } of tags) {
    const whole = type === 'script' ? Buffer.concat([encodeAmf0(['@setDataFrame']), body]) : body;
    await push.send(framed(connection, { type: types[type], timestamp, body: whole }));
  }
}

/** Stream, time in decoding order and size of each packet of a file. */
async function packets(path: string): Promise<string[]> {
  const shown = ['-show_entries', 'packet=codec_type,dts,size', '-of', 'compact=p=0'];
  const { stdout } = await run('ffprobe', ['-v', 'error', ...shown, path], { maxBuffer: 16 * 2 ** 20 });
  // Behind what has side data stands an empty field.
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [line.replace(/\|$/, '')]));
}

function configuration({ folder, rtmp, http }: { folder: string; rtmp: number; http: number }): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
load_module ${module};
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
master_process off;
error_log stderr error;
pid ${folder}/nginx.pid;
events { worker_connections 64; }
rtmp {
  access_log off;
  server {
    listen 127.0.0.1:${rtmp};
    application live { live on; record all; record_path ${folder}; }
    application closed { live on; on_publish http://127.0.0.1:${http}/no; }
  }
}
http {
  access_log off;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n  ')}
  server { listen 127.0.0.1:${http}; location / { return 403; } }
}
`;
}
