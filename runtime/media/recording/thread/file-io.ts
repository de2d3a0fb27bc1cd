import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';

/** A file by positions. Calls block: they run in the recording thread. They throw what the disk says. */
export interface FileIo {
  readonly size: number;
  /** Fills `into` from `at` on, as far as the file goes; bytes read. */
  read(at: number, into: Uint8Array): number;
  write(at: number, bytes: Uint8Array): void;
  truncate(size: number): void;
}

export interface DiskFile extends FileIo {
  /** Resolves when its bytes are on disk. */
  sync(): Promise<void>;
  /** The next call opens it again. */
  close(): void;
}

/** The file at this path. The first call opens it, and makes it where there is none. */
export function diskFile(path: string): DiskFile {
  let file: { readonly fd: number; syncs: number } | undefined;
  const open = () => {
    const flags = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW;
    file ??= { fd: openSync(path, flags, 0o640), syncs: 0 };
    return file;
  };
  return {
    get size() {
      return fstatSync(open().fd).size;
    },
    read(at, into) {
      const { fd } = open();
      let done = 0;
      while (done < into.length) {
        const count = readSync(fd, into, done, into.length - done, at + done);
        if (count === 0) break;
        done += count;
      }
      return done;
    },
    write(at, bytes) {
      const { fd } = open();
      // A disk that is nearly full takes less than it was given, and says why at the next try.
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(fd, bytes, done, bytes.length - done, at + done);
      }
    },
    truncate: (size) => ftruncateSync(open().fd, size),
    async sync() {
      const its = open();
      its.syncs += 1;
      try {
        await new Promise<void>((resolve, reject) => {
          fdatasync(its.fd, (error) => (error ? reject(error) : resolve()));
        });
      } finally {
        its.syncs -= 1;
        if (its !== file && its.syncs === 0) closeSync(its.fd);
      }
    },
    close() {
      // A sync that runs closes it afterwards.
      if (file?.syncs === 0) closeSync(file.fd);
      file = undefined;
    },
  };
}
