import { Elysia } from 'elysia';
import { authenticator } from '../../core/http/auth.ts';
import { definePlugin } from '../../core/plugin/plugin.ts';
import { services } from '../../core/plugin/services.ts';
import { offer } from '../../core/plugin/token.ts';
import { assets } from '../assets/contract.ts';
import { ipfsSettings, taskKinds, tasks } from '../tasks/contract.ts';
import { config } from './config.ts';
import { ipfsFaults } from './ipfs/faults.ts';
import { gatewayRoutes } from './ipfs/gateway.ts';
import { exportKind, routes } from './request.ts';

/** Brings files of assets elsewhere. */
export default definePlugin({
  id: 'exports',
  summary: 'exports of assets to IPFS or to a URL of the caller',
  config,
  needs: [authenticator, assets, tasks, ipfsSettings, services.packer],
  offers: [offer(taskKinds, exportKind)],
  faults: {
    ...ipfsFaults,
    'export.refused': {
      status: 403,
      meaning: 'A plugin of this server does not allow the export; the message gives the reason.',
    },
    'export.trouble': {
      status: 503,
      meaning: 'An attempt at an export failed, and another follows. Only in tasks, never an answer.',
    },
  },
  routes: (kit) => new Elysia().use(routes(kit)).use(gatewayRoutes(kit)),
});
