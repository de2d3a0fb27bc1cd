/**
 * Keeps the process alive until the returned function is called. The timers of the system clock do not, and a start that
 * waits for an engine has neither socket nor listener.
 */
export function holdProcess(): () => void {
  // However long: it is there, that is all.
  const timer = setInterval(() => {}, 3_600_000);
  return () => clearInterval(timer);
}
