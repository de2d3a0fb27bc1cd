import type { Role } from '../../../../core/plugin/nodes.ts';
import { type Engine, startEngine } from '../engine.ts';

/** A node of a fleet: the real program in a process of its own, with everything that an engine can do. */
export interface FleetNode extends Engine {
  readonly id: string;
  readonly roles: readonly Role[];
  readonly url: string;
  /** Open on nodes with the role `media` alone. */
  readonly rtmpPort: number;
}

export interface NodePlan {
  readonly id: string;
  readonly roles: readonly Role[];
  /** HTTP and RTMP. Default: free ones. */
  readonly ports?: readonly number[];
  /** More of its config: `{ MILLRACE_NODE__TIMEOUT: '3s' }`. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts it and waits until it is ready. `env`: what all nodes of the deployment have in common. */
export async function fleetNode(
  plan: NodePlan,
  options: { folder: string; env: Readonly<Record<string, string>> },
): Promise<FleetNode> {
  const { id, roles } = plan;
  const { engine, place } = await startEngine(
    {
      name: id,
      portCount: 2,
      prepare: async ({ folder, ports: [http, rtmp] }) => ({
        command: [process.execPath, new URL('../../../../runtime/main.ts', import.meta.url).pathname],
        env: {
          ...options.env,
          MILLRACE_NODE__ID: id,
          MILLRACE_NODE__URL: `http://127.0.0.1:${http}`,
          MILLRACE_ROLES: JSON.stringify(roles),
          MILLRACE_HTTP__HOST: '127.0.0.1',
          MILLRACE_HTTP__PORT: String(http),
          MILLRACE_RTMP__HOST: '127.0.0.1',
          MILLRACE_RTMP__PORT: String(rtmp),
          MILLRACE_PUBLIC_URL: `http://127.0.0.1:${http}`,
          MILLRACE_DATA_DIR: folder,
          ...plan.env,
        },
      }),
      async isReady({ ports: [http] }) {
        const answer = await fetch(`http://127.0.0.1:${http}/health/ready`, {
          signal: AbortSignal.timeout(2000),
        });
        await answer.arrayBuffer();
        return answer.ok;
      },
    },
    { folder: options.folder, ...(plan.ports && { ports: plan.ports }) },
  );
  const [http, rtmp] = place.ports;
  const url = `http://127.0.0.1:${http}`;
  return Object.assign(engine, { id, roles, url, rtmpPort: rtmp });
}
