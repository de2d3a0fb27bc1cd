import type { RecordingFileState } from '../../../core/ports/recorder.ts';
import type { RecordingFile } from './recording-file.ts';

/** The recording files of a node by session: that of the source, and those of its renditions by name. */
export class RecordingsOfNode {
  readonly #sessions = new Map<string, Session>();

  add(file: RecordingFile): void {
    const { sessionId, rendition } = file.meta;
    const session: Session = this.#sessions.get(sessionId) ?? { renditions: new Map() };
    this.#sessions.set(sessionId, session);
    if (rendition) session.renditions.set(rendition.name, file);
    else session.source = file;
  }

  delete({ meta: { sessionId, rendition } }: RecordingFile): void {
    const session = this.#sessions.get(sessionId);
    if (!session) return;
    if (rendition) session.renditions.delete(rendition.name);
    else delete session.source;
    if (!session.source && session.renditions.size === 0) this.#sessions.delete(sessionId);
  }

  source(sessionId: string): RecordingFile | undefined {
    return this.#sessions.get(sessionId)?.source;
  }

  rendition(sessionId: string, name: string): RecordingFile | undefined {
    return this.#sessions.get(sessionId)?.renditions.get(name);
  }

  /** In the order of their profiles. */
  renditions(sessionId: string): readonly RecordingFile[] {
    const order = ({ meta: { rendition } }: RecordingFile) => rendition?.order ?? 0;
    return [...(this.#sessions.get(sessionId)?.renditions.values() ?? [])].sort(
      (a, b) => order(a) - order(b),
    );
  }

  /** One of each session, also where there are renditions alone because nothing of the source could be written. */
  states(): RecordingFileState[] {
    return [...this.#sessions.values()].flatMap(({ source, renditions }) => {
      const all = [...(source ? [source] : []), ...renditions.values()].map(({ state }) => state);
      const [first] = all;
      if (!first) return [];
      return {
        // `isFinished` is that of the source: a rendition alone is no recording.
        ...first,
        isFed: all.some(({ isFed }) => isFed),
        writtenAt: Math.max(...all.map(({ writtenAt }) => writtenAt)),
        bytes: all.reduce((sum, { bytes }) => sum + bytes, 0),
      };
    });
  }
}

interface Session {
  source?: RecordingFile;
  readonly renditions: Map<string, RecordingFile>;
}
