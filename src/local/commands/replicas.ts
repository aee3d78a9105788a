import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join, resolve } from 'node:path';
import { MAIN } from '../../keyspace/shards.ts';
import { noteMembers } from '../data-folder.ts';
import { UsageError } from '../options.ts';

const USAGE = 'Usage: npm run replicas -- [--data DIR] [--shard NAME] [list | replace ID | transfer ID]';
const REQUEST_MS = 30_000;

interface Members {
  leader: number;
  voters: number[];
  learners: number[];
}

interface Answer {
  done?: boolean;
  id?: number;
  phase?: string;
  message?: string;
  members?: Members;
}

/** `npm run replicas`: shows the members of a running cluster, replaces one, or hands leadership over. */
export async function replicas(args: string[]): Promise<number> {
  const { data, shard, action, id } = parse(args);
  const send = client(data, shard);
  if (action === 'list') {
    print((await send('GET')).members!);
    return 0;
  }
  for (let last = ''; ; ) {
    const answer = await send('POST', { [action]: id });
    if (answer.done) {
      if (action === 'replace') process.stdout.write(`Replica ${answer.id} has taken the place of ${id}.\n`);
      print(answer.members!);
      noteMembers(data, shard, answer.members!.voters);
      return 0;
    }
    const line = `replica ${answer.id}: ${answer.phase}`;
    if (line !== last) process.stderr.write(`${line}\n`);
    last = line;
  }
}

function parse(args: string[]): { data: string; shard: string; action: string; id: number } {
  const rest = [...args];
  const take = (flag: string) => (rest.includes(flag) ? rest.splice(rest.indexOf(flag), 2)[1] : undefined);
  const data = take('--data') ?? '.gunwale';
  const shard = take('--shard') ?? MAIN;
  const [action = 'list', id] = rest;
  const takesId = action === 'replace' || action === 'transfer';
  if ((action !== 'list' && !takesId) || (takesId && !/^[1-9]\d*$/.test(id ?? ''))) throw new UsageError(USAGE);
  return { data: resolve(data), shard, action, id: Number(id) };
}

function print({ leader, voters, learners }: Members): void {
  const lines = [...voters, ...learners].map((id) => {
    const role = id === leader ? 'leader' : voters.includes(id) ? 'follower' : 'without a vote yet';
    return `${id}\t${role}\n`;
  });
  process.stdout.write(lines.join(''));
}

/** Calls the running cluster with the administrator's certificate. */
function client(data: string, shard: string): (method: string, body?: object) => Promise<Answer> {
  const file = join(data, 'kubeconfig');
  if (!existsSync(file) || !existsSync(join(data, 'run.json'))) throw new UsageError(`No cluster runs on ${data}.`);
  const config = JSON.parse(readFileSync(file, 'utf8'));
  const [{ cluster }, { user }] = [config.clusters[0], config.users[0]];
  const decode = (text: string) => Buffer.from(text, 'base64');
  const tls = {
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
  };
  return (method, body) =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' };
      const outgoing = request(
        `${cluster.server}/gunwale/shards/${encodeURIComponent(shard)}/replicas`,
        { ...tls, method, headers, timeout: REQUEST_MS },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('end', () => {
            const text = Buffer.concat(chunks).toString();
            if (answer.statusCode === 200) resolve(JSON.parse(text) as Answer);
            else reject(new UsageError(`${answer.statusCode}: ${messageOf(text)}`));
          });
        },
      );
      outgoing.on('timeout', () => outgoing.destroy(new Error('the cluster does not answer')));
      outgoing.on('error', (error) => reject(new UsageError(`The cluster cannot be reached: ${error.message}`)));
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
}

function messageOf(text: string): string {
  try {
    return (JSON.parse(text) as Answer).message ?? text;
  } catch {
    return text;
  }
}
