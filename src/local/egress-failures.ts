import type { EgressTarget } from '../outbound/egress-protocol.ts';
import { NameMismatchError } from './egress-agents.ts';

const UNKNOWN_AUTHORITY: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'INVALID_CA',
]);
const CONNECT: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
  EACCES: 'connect: permission denied',
};
const unverified = (why: string) => `tls: failed to verify certificate: x509: ${why}`;

/** What Go's net/http says where Node says `error`. */
export function failureOf(error: Error, target: EgressTarget): string {
  const {
    code = '',
    address,
    port,
    localAddress,
  } = error as NodeJS.ErrnoException & {
    address?: string;
    port?: number;
    localAddress?: string;
  };
  if (error instanceof NameMismatchError) return `tls: failed to verify certificate: ${error.message}`;
  if (UNKNOWN_AUTHORITY.has(code)) return unverified('certificate signed by unknown authority');
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return unverified('certificate has expired or is not yet valid');
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${hostOf(target)}: no such host`;
  const why = CONNECT[code];
  if (why !== undefined) {
    const host = address ?? hostOf(target);
    return `dial tcp ${host.includes(':') ? `[${host}]` : host}:${port ?? portOf(target)}: ${why}`;
  }
  if (code === 'ECONNRESET') {
    const isClosed = error.message === 'socket hang up' || error.message.includes('before secure TLS');
    return isClosed
      ? 'EOF'
      : `read tcp ${localAddress ?? ''}->${hostOf(target)}:${portOf(target)}: read: connection reset by peer`;
  }
  if (code.startsWith('ERR_SSL_')) return tlsFailure(code);
  if (code.startsWith('HPE_')) return `net/http: HTTP/1.x transport connection broken: malformed HTTP response`;
  return error.message;
}

function tlsFailure(code: string): string {
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return 'tls: first record does not look like a TLS handshake';
  const alert = /ALERT_(.*)$/.exec(code)?.[1];
  return `remote error: tls: ${(alert ?? code.slice('ERR_SSL_'.length)).toLowerCase().replaceAll('_', ' ')}`;
}

const hostOf = ({ dial, url }: EgressTarget) => dial?.host ?? new URL(url).hostname;
const portOf = ({ dial, url }: EgressTarget) => {
  const { port, protocol } = new URL(url);
  return dial?.port ?? (port || (protocol === 'https:' ? 443 : 80));
};
