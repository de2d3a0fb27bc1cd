/**
 * A port of this host that nobody listens on, for a config that says 0. The system gives them out at random, so that
 * it is still free a moment later; if not, opening it fails and says so. 0 when the host cannot be listened on.
 */
export function freePort(hostname: string): number {
  try {
    const probe = Bun.listen({ hostname, port: 0, socket: { data() {} } });
    const { port } = probe;
    probe.stop(true);
    return port;
  } catch {
    return 0;
  }
}
