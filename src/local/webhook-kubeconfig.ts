import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import * as v from 'valibot';
import { parse } from 'yaml';
import type { Connection } from '../outbound/connection.ts';
import { readGiven } from './files.ts';
import { UsageError } from './usage.ts';

const text = v.optional(v.nullable(v.string()), '');

const cluster = v.object({
  server: v.pipe(v.string(), v.url()),
  'certificate-authority': text,
  'certificate-authority-data': text,
  'insecure-skip-tls-verify': v.optional(v.boolean(), false),
  'tls-server-name': text,
});
const user = v.object({
  'client-certificate': text,
  'client-certificate-data': text,
  'client-key': text,
  'client-key-data': text,
  token: text,
  tokenFile: text,
  username: text,
  password: text,
});

/** A kubeconfig file (client.authentication.k8s.io is not for webhooks). */
const schema = v.object({
  clusters: v.array(v.object({ name: v.string(), cluster })),
  users: v.optional(v.nullable(v.array(v.object({ name: v.string(), user: v.nullable(user) }))), []),
  contexts: v.array(v.object({ name: v.string(), context: v.object({ cluster: v.string(), user: text }) })),
  'current-context': v.pipe(v.string(), v.minLength(1)),
});

type User = v.InferOutput<typeof user>;

/** What a kubeconfig file says of its current context. Throws Error with the path and the reason. */
function readKubeconfig(path: string, source: string): Connection {
  const result = v.safeParse(schema, parse(source));
  if (!result.success) {
    const issue = result.issues[0];
    throw new Error(`${v.getDotPath(issue) ?? '(root)'}: ${issue.message}`);
  }
  const { clusters, users, contexts, 'current-context': current } = result.output;
  const context = contexts.find(({ name }) => name === current)?.context;
  if (context === undefined) throw new Error(`current-context: there is no context ${JSON.stringify(current)}`);
  const found = clusters.find(({ name }) => name === context.cluster)?.cluster;
  if (found === undefined) throw new Error(`contexts: there is no cluster ${JSON.stringify(context.cluster)}`);
  const who = (users ?? []).find(({ name }) => name === context.user)?.user ?? undefined;
  if (who === undefined && context.user) throw new Error(`contexts: there is no user ${JSON.stringify(context.user)}`);
  const data = (encoded: string | null, file: string | null) => dataOf(encoded, file, dirname(path));
  const insecure = found['insecure-skip-tls-verify'];
  const certificate = who === undefined ? '' : data(who['client-certificate-data'], who['client-certificate']);
  const key = who === undefined ? '' : data(who['client-key-data'], who['client-key']);
  return {
    server: found.server,
    authority: insecure ? '' : data(found['certificate-authority-data'], found['certificate-authority']),
    insecure,
    serverName: found['tls-server-name'] ?? '',
    ...(certificate !== '' && key !== '' ? { identity: { certificate, key } } : {}),
    authorization: who === undefined ? '' : authorizationOf(who, dirname(path)),
  };
}

/** Data in base64, or else a file's. */
function dataOf(encoded: string | null, file: string | null, folder: string): string {
  if (encoded) return Buffer.from(encoded, 'base64').toString();
  return file ? readFileSync(resolve(folder, file), 'utf8') : '';
}

function authorizationOf({ token, tokenFile, username, password }: User, folder: string): string {
  const bearer = tokenFile ? readFileSync(resolve(folder, tokenFile), 'utf8').trim() : token;
  if (bearer) return `Bearer ${bearer}`;
  return username ? `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` : '';
}

/** How a webhook is reached, by the kubeconfig file that a flag or a configuration names. Throws UsageError. */
export function connectionOf(what: string, path: string): Connection {
  const source = readGiven(what, path);
  try {
    return readKubeconfig(path, source);
  } catch (error) {
    throw new UsageError(`The ${what} ${path} is wrong: ${(error as Error).message}`);
  }
}
