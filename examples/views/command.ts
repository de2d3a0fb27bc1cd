import type { Client } from 'millrace/client';
import { type Command, object, Type } from 'millrace/plugin';

/** `millrace views --id <playback id>` */
export const viewsCommand: Command<Client> = {
  name: 'views',
  summary: 'Prints how many viewers a video had, and how long they watched',
  args: object({ id: Type.String({ description: 'playback id of the video' }) }),
  async run({ client, args: { id }, write }) {
    const path = `/api/data/views/${encodeURIComponent(String(id))}`;
    const answer = await client.request({ method: 'GET', path });
    const { viewCount, watchTime } = (await answer.json()) as Readonly<Record<string, number>>;
    write(`${viewCount} viewers, ${watchTime} s watched`);
    return 0;
  },
};
