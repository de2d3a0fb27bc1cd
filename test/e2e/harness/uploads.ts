import type { Server } from './server.ts';

/** What became of one upload. */
export interface Uploaded {
  readonly status: number;
  /** Of the answer to PUT: the asset, or what was wrong. */
  readonly body: Answer;
  readonly assetId: string;
  readonly taskId: string;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of all kinds
export type Answer = any;

/** Asks for an upload and sends the file there, as an application does. */
export async function upload(server: Server, file: string): Promise<Uploaded> {
  const asked = await server.api.request('POST', '/api/asset/request-upload', { name: 'A film' });
  if (asked.status !== 200) throw new Error(`no upload: ${asked.status} ${await asked.text()}`);
  const { url, asset, task } = (await asked.json()) as Answer;
  const answer = await fetch(url, { method: 'PUT', body: Bun.file(file) });
  return { status: answer.status, body: await answer.json(), assetId: asset.id, taskId: task.id };
}
