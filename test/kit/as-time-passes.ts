/** What is waited for may set its timers at any time: `pass` lets time pass, again and again, for as long as that takes. */
export async function asTimePasses<T>(awaited: Promise<T>, pass: () => Promise<unknown>): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  awaited.then(over, over);
  while (!isOver) {
    await pass();
    // What is done by threads and disks takes turns of this loop, not time.
    await new Promise((resolve) => setImmediate(resolve));
  }
  return awaited;
}
