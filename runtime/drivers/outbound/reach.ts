import { connect as connectTcp, type Socket } from 'node:net';
import { checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls';
import type { Clock } from '../../../core/ports/clock.ts';
import { failure, type OutboundFailure } from '../../../core/ports/outbound.ts';
import { outboundLimits } from './limits.ts';
import type { Place } from './target.ts';

/** Addresses of one name that are tried, in the order of the system; all were checked. */
const addressesTried = 4;

export interface ReachOptions<Taken extends object> {
  /** Those that were checked, in the order in which they are tried. */
  readonly addresses: readonly string[];
  /** TCP and TLS together, all addresses, ms. */
  readonly timeout: number;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Time for one of several addresses, ms. */
  readonly addressTimeout?: number;
  /** Certificates trusted in place of the built-in ones, PEM. */
  readonly ca: readonly string[] | undefined;
  /** Offered by ALPN (RFC 7301), when anything is. */
  readonly protocols?: readonly string[];
  /** Given the socket in the same turn in which it was connected and checked, so that nothing it says can be missed. Not an `ok`. */
  take(socket: Socket, address: string): Taken;
}

/**
 * Connects to one of the addresses and to nothing else: the socket is never given the name, so it cannot ask again
 * what it stands for. The name is what the certificate must be for. A peer that cannot be reached, or says nothing, is passed
 * over for the next address, one whose certificate is wrong is not.
 */
export async function reach<Taken extends object>(
  to: Place,
  options: ReachOptions<Taken>,
): Promise<Taken | OutboundFailure> {
  const { clock, addressTimeout = outboundLimits.addressTimeout } = options;
  const addresses = options.addresses.slice(0, addressesTried);
  const due = clock.now() + options.timeout;
  let last: OutboundFailure = failure('connect', `${to.origin} has no address`);
  for (const [index, address] of addresses.entries()) {
    const isLast = index === addresses.length - 1;
    const limit = isLast ? due : Math.min(due, clock.now() + addressTimeout);
    let isLate = false;
    const onLate = () => {
      isLate = true;
    };
    const tried = await attempt(to, { ...options, address, due: limit, onLate });
    if (!('ok' in tried)) return tried;
    last = tried;
    const isAnswer = tried.reason === 'tls' && !isLate;
    if (options.signal.aborted || isAnswer || clock.now() >= due) break;
  }
  return last;
}

function attempt<Taken extends object>(
  to: Place,
  options: ReachOptions<Taken> & { address: string; due: number; onLate: () => void },
): Promise<Taken | OutboundFailure> {
  const { address, clock, signal, due } = options;
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(signal.reason as OutboundFailure);
    const socket = to.isSecure ? secureSocket(to, options) : connectTcp({ host: address, port: to.port });
    let isSettled = false;
    /** Of TLS nothing is known yet. */
    let isConnected = false;
    const settle = (outcome: Taken | OutboundFailure) => {
      if (isSettled) return;
      isSettled = true;
      cancel();
      signal.removeEventListener('abort', onAbort);
      if ('ok' in outcome) socket.destroy();
      resolve(outcome);
    };
    const onAbort = () => settle(signal.reason as OutboundFailure);
    const cancel = clock.at(due, () => {
      options.onLate();
      const late = isConnected
        ? failure('tls', `${to.origin} did not answer as a TLS server in the time allowed`)
        : failure('connect', `${to.origin} could not be connected to in the time allowed`);
      settle(late);
    });
    signal.addEventListener('abort', onAbort);
    const onError = (error: NodeJS.ErrnoException) => settle(connectFailure(to, error));
    const onClose = () => {
      const reason = to.isSecure ? 'tls' : 'connect';
      settle(failure(reason, `${to.origin} closed the connection while it was made`));
    };
    socket.once('connect', () => {
      isConnected = true;
    });
    socket.on('error', onError);
    socket.on('close', onClose);
    socket.on(to.isSecure ? 'secureConnect' : 'connect', () => {
      if (isSettled) return;
      const wrong = to.isSecure ? certificateProblem(socket as TLSSocket, to) : undefined;
      if (wrong) return settle(wrong);
      socket.setNoDelay(true);
      settle(options.take(socket, address));
    });
  });
}

function secureSocket(
  to: Place,
  options: Pick<ReachOptions<object>, 'protocols' | 'ca'> & { address: string },
): Socket {
  return connectTls({
    host: options.address,
    port: to.port,
    // No SNI for an address (RFC 6066 §3).
    servername: to.isAddress ? '' : to.host,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
    ...(options.protocols && { ALPNProtocols: [...options.protocols] }),
    checkServerIdentity: (_, certificate) => checkServerIdentity(to.host, certificate),
    ...(options.ca && { ca: [...options.ca] }),
  });
}

/** The runtime has checked all this; it is looked at again because everything hangs on it. */
function certificateProblem(socket: TLSSocket, to: Place): OutboundFailure | undefined {
  if (!socket.authorized) return failure('tls', `${to.origin}: its certificate is not trusted`);
  const wrong = checkServerIdentity(to.host, socket.getPeerCertificate());
  return wrong ? failure('tls', `${to.origin}: its certificate is for another name`) : undefined;
}

/** The codes of sockets; what else a secure connection fails with comes from TLS. */
const unreachable: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'reset the connection',
  ENETUNREACH: 'cannot be reached: no route to its network',
  EHOSTUNREACH: 'cannot be reached: no route to it',
  ETIMEDOUT: 'did not answer',
  EADDRNOTAVAIL: 'cannot be reached: no local address or port is free',
  EMFILE: 'cannot be reached: this process has too many files open',
  EACCES: 'cannot be reached: this machine forbids it',
  EPERM: 'cannot be reached: this machine forbids it',
};
const certificateProblems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is signed by an authority that is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is signed by an authority that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'its certificate is signed by an authority that is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is signed by an authority that is not trusted',
  CERT_REVOKED: 'its certificate was revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};

function connectFailure(to: Place, error: NodeJS.ErrnoException): OutboundFailure {
  const code = error.code ?? '';
  const reached = unreachable[code];
  if (reached !== undefined || !to.isSecure) {
    return failure('connect', `${to.origin} ${reached ?? 'could not be connected to'}`);
  }
  return failure(
    'tls',
    `${to.origin}: ${certificateProblems[code] ?? 'no secure connection could be agreed on'}`,
  );
}
