import { fsBlobs } from '../../../runtime/drivers/blobs/fs/index.ts';

/** Adds 1 to the number in a blob, as often as told, each time under the condition that nobody else has changed it. */
const [folder = '', key = '', count = '0'] = process.argv.slice(2);
const blobs = fsBlobs({ folder });
for (let done = 0; done < Number(count); ) {
  const got = await blobs.get(key);
  if (got.outcome !== 'ok') {
    const first = await blobs.put(key, Buffer.from('1'), { ifAbsent: true });
    if (first.outcome === 'ok') done += 1;
    continue;
  }
  const number = Number(await new Response(got.body).text());
  const next = await blobs.put(key, Buffer.from(`${number + 1}`), { ifMatch: got.blob.etag });
  if (next.outcome === 'ok') done += 1;
}
await blobs.close();
