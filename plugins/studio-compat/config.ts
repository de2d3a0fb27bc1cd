import { type Kit, Type } from '../../sdk/plugin.ts';

export const config = Type.Object({
  path: Type.String({
    default: '/studio',
    pattern: '^(/(?!\\.+(/|$))[A-Za-z0-9._~-]+)+$',
    expected: 'a path such as /studio, without a slash at the end',
    description: 'Path of the API. Clients get `<address of this server><path>/api` as their `serverURL`.',
  }),
  hosts: Type.Array(Type.String(), {
    default: [],
    description: 'Host names that stand for the path: at `studio.example.com` the API is at `/api`.',
  }),
});

export type StudioKit = Kit<typeof config>;
