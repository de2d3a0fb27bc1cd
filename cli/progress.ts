/** Between two pictures of a bar, ms. */
const frame = 100;
const barWidth = 24;

export interface Progress {
  /** `share` is 0..1; `text` says more about it. */
  show(share: number, text: string): void;
  /** Leaves the terminal as it was. */
  clear(): void;
}

/** A bar on a terminal; elsewhere a line for each tenth. Both on the standard error, so that the standard output is the result. */
export function progress(label: string): Progress {
  const out = process.stderr;
  let shown = Number.NEGATIVE_INFINITY;
  let tenth = -1;
  if (out.isTTY)
    return {
      show(share, text) {
        const now = performance.now();
        if (now - shown < frame && share < 1) return;
        shown = now;
        const full = Math.round(share * barWidth);
        const bar = '█'.repeat(full) + '░'.repeat(barWidth - full);
        const line = `${label}  ${bar} ${percent(share)}  ${text}`;
        out.write(`\r\u001b[K${line.slice(0, Math.max(20, (out.columns || 80) - 1))}`);
      },
      clear: () => void out.write('\r\u001b[K'),
    };
  return {
    show(share, text) {
      if (Math.floor(share * 10) === tenth) return;
      tenth = Math.floor(share * 10);
      out.write(`${label}  ${percent(share)}  ${text}\n`);
    },
    clear() {},
  };
}

export function percent(share: number): string {
  return `${Math.floor(share * 100)} %`;
}
