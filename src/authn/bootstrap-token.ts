import { isObject, type JsonObject } from '../api/object.ts';
import type { TokenDeps } from './index.ts';
import { keys, readStored } from './stored.ts';
import type { TokenIdentity } from './token.ts';

const GROUP = 'system:bootstrappers';
const groupPattern = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

function field(data: JsonObject, key: string): string {
  const value = data[key];
  if (typeof value !== 'string') return '';
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(value), (c) => c.charCodeAt(0)));
  } catch {
    return '';
  }
}

function equalText(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i % Math.max(b.length, 1));
  return difference === 0;
}

/**
 * Bootstrap tokens `ID.SECRET`: of the secret `bootstrap-token-ID` in kube-system, of type
 * `bootstrap.kubernetes.io/token`, not expired and marked for authentication. The user is `system:bootstrap:ID`.
 */
export async function bootstrapToken(
  token: string,
  _audiences: readonly string[],
  deps: TokenDeps,
): Promise<TokenIdentity | undefined> {
  const match = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(token);
  if (match === null) return undefined;
  const [, id, secretPart] = match as unknown as [string, string, string];
  const [secret] = await readStored(deps.keyspace, [keys.secret('kube-system', `bootstrap-token-${id}`)]);
  if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return undefined;
  if (secret.type !== 'bootstrap.kubernetes.io/token' || !isObject(secret.data)) return undefined;
  const data = secret.data;
  if (!equalText(secretPart, field(data, 'token-secret')) || field(data, 'token-id') !== id) return undefined;
  const expiration = field(data, 'expiration');
  if (expiration !== '' && !(Date.parse(expiration) > deps.now().getTime())) return undefined;
  if (field(data, 'usage-bootstrap-authentication') !== 'true') return undefined;
  const groups = field(data, 'auth-extra-groups').split(',').filter(Boolean);
  if (!groups.every((g) => groupPattern.test(g))) return undefined;
  return { user: { name: `system:bootstrap:${id}`, groups: [GROUP, ...groups], extra: {} } };
}
