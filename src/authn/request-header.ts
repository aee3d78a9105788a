import { unauthorized } from '../status/status.ts';
import { withAuthenticated } from './anonymous.ts';
import type { Authenticated, AuthenticationDeps } from './index.ts';
import { certifiedSubject } from './x509.ts';

/** The values of a repeated header, which the runtime joins with a comma and a space; empty ones are none. */
const values = (headers: Headers, name: string): string[] => (headers.get(name) ?? '').split(', ').filter(Boolean);

/** A key in the rest of a header's name: lower case, and percent signs escape what names of headers cannot hold. */
function extraKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function extraOf(headers: Headers, prefixes: readonly string[]): Record<string, string[]> {
  const extra = new Map<string, string[]>();
  for (const prefix of prefixes.map((p) => p.toLowerCase())) {
    for (const [name, value] of headers) {
      if (!name.startsWith(prefix)) continue;
      const key = extraKey(name.slice(prefix.length));
      extra.set(key, [...(extra.get(key) ?? []), ...value.split(', ')]);
    }
  }
  return Object.fromEntries(extra);
}

/**
 * The front proxy: whoever shows a certificate of its authority, with one of the allowed names, is believed who its
 * headers say the user is. Anybody else's headers are not looked at. Throws Unauthorized for a certificate of another
 * authority, which a later authenticator may know.
 */
export async function requestHeader(request: Request, deps: AuthenticationDeps): Promise<Authenticated | undefined> {
  const proxy = deps.config.authentication.requestHeader;
  if (proxy === undefined) return undefined;
  const subject = await certifiedSubject(request, proxy.clientCA, deps.now().getTime());
  if (subject === undefined) return undefined;
  if (proxy.allowedNames.length > 0 && !proxy.allowedNames.includes(subject.name)) throw unauthorized();
  const { headers } = request;
  const name = proxy.usernameHeaders.map((h) => headers.get(h) ?? '').find((value) => value !== '');
  if (name === undefined) return undefined;
  const uid = proxy.uidHeaders.map((h) => headers.get(h) ?? '').find((value) => value !== '');
  const groups = proxy.groupHeaders.flatMap((h) => values(headers, h));
  const extra = extraOf(headers, proxy.extraHeaderPrefixes);
  return { user: withAuthenticated({ name, ...(uid === undefined ? {} : { uid }), groups, extra }) };
}
