import type { Config } from '../config.ts';
import type { UserInfo } from '../request/context.ts';
import type { TokenDeps } from './index.ts';
import type { TokenIdentity } from './token.ts';

/** The fields of one CSV line; quoted fields may hold commas and doubled quotes. */
function csvFields(line: string): string[] {
  const fields: string[] = [];
  let rest = line;
  for (;;) {
    const quoted = /^\s*"((?:[^"]|"")*)"\s*(,|$)/.exec(rest);
    const plain = quoted ?? /^([^,]*)(,|$)/.exec(rest)!;
    const value = plain[1]!;
    fields.push(quoted === null ? value.trim() : value.replaceAll('""', '"'));
    rest = rest.slice(plain[0].length);
    if (plain[2] === '') return fields;
  }
}

/** Reads a token file: lines `token,user,uid` with an optional fourth field of groups, joined by commas. */
export function parseTokenFile(text: string): { token: string; user: UserInfo }[] {
  const out: { token: string; user: UserInfo }[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [token = '', name = '', uid = '', groups = ''] = csvFields(line);
    if (token === '' || name === '') continue;
    out.push({
      token,
      user: {
        name,
        ...(uid === '' ? {} : { uid }),
        groups: groups
          .split(',')
          .map((g) => g.trim())
          .filter(Boolean),
        extra: {},
      },
    });
  }
  return out;
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ (b[i] ?? 0);
  return difference === 0;
}

/** The entries of a configuration's token file, which is parsed once. */
const parsed = new WeakMap<Config, { token: string; user: UserInfo }[]>();

/** Tokens of the static token file, compared by digest so that the time taken tells nothing of their bytes. */
export async function staticToken(
  token: string,
  _audiences: readonly string[],
  { config }: TokenDeps,
): Promise<TokenIdentity | undefined> {
  if (config.staticTokens === '') return undefined;
  const entries = parsed.get(config) ?? parseTokenFile(config.staticTokens);
  parsed.set(config, entries);
  const presented = await digest(token);
  let found: UserInfo | undefined;
  for (const entry of entries) if (equalBytes(await digest(entry.token), presented)) found ??= entry.user;
  return found === undefined ? undefined : { user: found };
}
