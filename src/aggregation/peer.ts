import type { Config } from '../config.ts';
import type { Keyspace } from '../keyspace/types.ts';
import type { OutboundRequest } from '../outbound/index.ts';
import { resolveService } from '../outbound/service.ts';
import { authorityOf } from '../proxy/target.ts';
import type { UserInfo } from '../request/context.ts';
import type { AggregatedVersion } from './api-service.ts';

/** Who the server is to the others when it asks for itself. */
export const AGGREGATOR: UserInfo = { name: 'system:kube-aggregator', groups: ['system:masters'], extra: {} };

/** Characters that a name of a header may have (RFC 9110, token), without the percent sign that escapes the others. */
const TOKEN = /^[A-Za-z0-9!#$&'*+.^_`|~-]$/;

function escapeKey(key: string): string {
  const escaped = (byte: number) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`;
  const shown = (byte: number) => {
    const character = String.fromCharCode(byte);
    return TOKEN.test(character) ? character : escaped(byte);
  };
  return Array.from(new TextEncoder().encode(key), shown).join('');
}

/** The headers in which a front proxy names the user, each with its lines. */
export function identityHeaders({ name, uid, groups, extra }: UserInfo): Record<string, readonly string[]> {
  return {
    'X-Remote-User': [name],
    ...(uid && { 'X-Remote-Uid': [uid] }),
    ...(groups.length > 0 && { 'X-Remote-Group': groups }),
    ...Object.fromEntries(Object.entries(extra).map(([key, values]) => [`X-Remote-Extra-${escapeKey(key)}`, values])),
  };
}

/** Whether a client's header is one that only a front proxy may send. */
export const isIdentityHeader = (name: string): boolean => /^x-remote-(user|uid|group|extra-.*)$/i.test(name);

/** Where the server of an APIService is: the address of one of its Service's endpoints, and how it is known there. */
export interface Peer {
  /** Scheme and authority: `https://10.2.0.7:8443`. */
  origin: string;
  tls: Pick<OutboundRequest, 'authority' | 'insecure' | 'serverName' | 'identity'>;
}

/** Looks for the server of an APIService. Throws ServiceError where its Service leads nowhere. */
export async function peerOf(
  { service, authority, insecure }: AggregatedVersion,
  keyspace: Pick<Keyspace, 'get' | 'list'>,
  config: Pick<Config, 'serviceRoutes' | 'proxyClient'>,
): Promise<Peer> {
  const { host, port } = await resolveService(keyspace, service, config.serviceRoutes);
  const identity = config.proxyClient;
  return {
    origin: `https://${authorityOf(host, String(port))}`,
    tls: {
      serverName: `${service.name}.${service.namespace}.svc`,
      ...(authority !== '' && { authority }),
      ...(insecure && { insecure }),
      ...(identity && { identity }),
    },
  };
}
