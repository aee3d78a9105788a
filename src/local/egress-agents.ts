import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { EgressTarget } from '../outbound/egress-protocol.ts';

/** Kinds of peers whose connections are kept; the one not used for longest goes first. */
const MAX_AGENTS = 256;
const IDLE_MS = 30_000;
const OPTIONS = { keepAlive: true, keepAliveMsecs: 10_000, scheduling: 'lifo', timeout: IDLE_MS } as const;

/** Go's words for a certificate that is for another name. */
export class NameMismatchError extends Error {}

/** Pools of open connections: one for each way of knowing a peer, so that no connection is used under another. */
export class EgressAgents {
  readonly plain = new HttpAgent(OPTIONS);
  readonly #secure = new Map<string, HttpsAgent>();

  /** The pool for a peer whose certificate must be for `name`. */
  secure({ authority, identity, insecure }: EgressTarget, name: string): HttpsAgent {
    const key = JSON.stringify([name, authority, identity, insecure]);
    const known = this.#secure.get(key);
    this.#secure.delete(key);
    const agent =
      known ??
      new HttpsAgent({
        ...OPTIONS,
        servername: isIP(name) === 0 ? name : '',
        rejectUnauthorized: insecure !== true,
        checkServerIdentity: (_, certificate) => identityFault(name, certificate),
        ...(authority === undefined ? {} : { ca: authority, allowPartialTrustChain: true }),
        ...(identity && { cert: identity.certificate, key: identity.key }),
      });
    this.#secure.set(key, agent);
    if (this.#secure.size > MAX_AGENTS) this.#drop();
    return agent;
  }

  #drop(): void {
    const [oldest] = this.#secure.keys();
    if (oldest === undefined) return;
    this.#secure.get(oldest)?.destroy();
    this.#secure.delete(oldest);
  }

  close(): void {
    this.plain.destroy();
    for (const agent of this.#secure.values()) agent.destroy();
  }
}

/** Verifies a certificate's name as Go does, which never looks at the common name. */
function identityFault(name: string, certificate: PeerCertificate): Error | undefined {
  const names = (certificate.subjectaltname ?? '').split(', ').filter((entry) => entry !== '');
  const ofKind = (kind: string) => names.filter((e) => e.startsWith(kind)).map((e) => e.slice(kind.length));
  if (isIP(name) !== 0 && ofKind('IP Address:').length === 0)
    return new NameMismatchError(
      `x509: cannot validate certificate for ${name} because it doesn't contain any IP SANs`,
    );
  if (names.length === 0)
    return new NameMismatchError('x509: certificate relies on legacy Common Name field, use SANs instead');
  if (checkServerIdentity(name, certificate) === undefined) return undefined;
  const valid = isIP(name) === 0 ? ofKind('DNS:') : ofKind('IP Address:');
  if (valid.length === 0)
    return new NameMismatchError(`x509: certificate is not valid for any names, but wanted to match ${name}`);
  return new NameMismatchError(`x509: certificate is valid for ${valid.join(', ')}, not ${name}`);
}
