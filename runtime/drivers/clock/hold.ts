const hour = 3600 * 1000;

/**
 * Keeps the process alive until the returned function is called. The timers of the system clock do not, and a start that
 * waits for an engine has neither socket nor listener.
 */
export function holdProcess(): () => void {
  const timer = setInterval(() => {}, hour);
  return () => clearInterval(timer);
}
