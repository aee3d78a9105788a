import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { MAIN, shardsFault } from '../keyspace/shards.ts';
import type { Options } from './options.ts';
import { UsageError } from './options.ts';

/** Format of the data folder; raised when an older launcher could not read what a newer one wrote. */
export const FORMAT = 2;
/** Format of a folder that older launchers read: without shards beside `main`. */
const PLAIN_FORMAT = 1;
const DEFAULT_REPLICAS = 3;
/** The second shard: what changes often and hangs together with nothing else. */
const SECOND_SHARD = { name: 'volatile', resources: ['events', 'leases'] };

const members = v.optional(v.array(v.number()));
const schema = v.object({
  format: v.number(),
  tenant: v.object({ uid: v.string(), name: v.string() }),
  replicas: v.number(),
  processes: v.number(),
  /** Shards beside `main`. */
  shards: v.optional(v.array(v.object({ name: v.string(), resources: v.array(v.string()), members })), []),
  /** Ids of the replicas as last changed; without it the first ones, from 1. Only a hint: the log says who is a member. */
  members,
});

/** `DIR/cluster.json`: what cannot change over the life of a data folder. */
export type ClusterRecord = v.InferOutput<typeof schema>;

/**
 * Opens the data folder, or makes it. `defaultProcesses` is the layout of a new folder that was not asked for one.
 * Throws UsageError when it was written by another format, or for other replicas, processes or shards than asked for.
 */
export function openDataFolder(options: Options, defaultProcesses: number): ClusterRecord {
  const { data } = options;
  const path = join(data, 'cluster.json');
  if (existsSync(path)) return matching(options, readRecord(path));
  if (existsSync(data) && readdirSync(data).length > 0) {
    throw new UsageError(`${data} is not empty and is no data folder of Gunwale: choose another with --data.`);
  }
  const replicas = options.replicas ?? DEFAULT_REPLICAS;
  const shards = options.shards === 2 ? [SECOND_SHARD] : [];
  const record: ClusterRecord = {
    format: shards.length === 0 ? PLAIN_FORMAT : FORMAT,
    tenant: { uid: randomUUID(), name: 'default' },
    replicas,
    processes: checkedProcesses(options.processes ?? defaultProcesses, replicas),
    shards,
  };
  mkdirSync(data, { recursive: true, mode: 0o700 });
  chmodSync(data, 0o700);
  writePrivately(path, `${JSON.stringify(record, null, 2)}\n`);
  return record;
}

function readRecord(path: string): ClusterRecord {
  const failure = new UsageError(`${path} cannot be read: the data folder is damaged or belongs to another program.`);
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    throw failure;
  }
  const format = v.safeParse(v.object({ format: v.number() }), json);
  if (format.success && format.output.format > FORMAT) {
    throw new UsageError(
      `${path} has format ${format.output.format}, this version of Gunwale reads format ${FORMAT}: use the version that made the folder, or another folder with --data.`,
    );
  }
  const record = v.safeParse(schema, json);
  if (!record.success) throw failure;
  const fault = shardsFault(record.output.shards);
  if (fault !== undefined) throw new UsageError(`${path}: ${fault}`);
  return record.output;
}

function matching(options: Options, record: ClusterRecord): ClusterRecord {
  const made = { replicas: record.replicas, processes: record.processes, shards: record.shards.length + 1 };
  for (const name of ['replicas', 'processes', 'shards'] as const) {
    const asked = options[name];
    if (asked !== undefined && asked !== made[name]) {
      throw new UsageError(
        `${options.data} was made with --${name} ${made[name]}, not ${asked}: leave --${name} away, or choose another folder with --data.`,
      );
    }
  }
  return record;
}

/** Keeps the ids of the replicas for the next start, which begins to look for them there. */
export function noteMembers(data: string, shard: string, members: number[]): void {
  const path = join(data, 'cluster.json');
  const record = readRecord(path);
  const shards = record.shards.map((spec) => (spec.name === shard ? { ...spec, members } : spec));
  const noted = { ...record, ...(shard === MAIN ? { members } : { shards }) };
  writePrivately(path, `${JSON.stringify(noted, null, 2)}\n`);
}

function checkedProcesses(processes: number, replicas: number): number {
  if (processes !== 1 && processes !== 2 && processes !== replicas) {
    throw new UsageError(`--processes must be 1, 2 or the number of replicas (${replicas}).`);
  }
  return processes;
}

/** The tenant as the Worker's configuration takes it. Members are only a hint: the log says who is one. */
export function tenantOf({ tenant, replicas, members, shards }: ClusterRecord) {
  const first = Array.from({ length: replicas }, (_, i) => i + 1);
  return {
    ...tenant,
    replicas: members ?? first,
    shards: shards.map(({ members, ...shard }) => ({ ...shard, replicas: members ?? first })),
  };
}

/** Writes a file that only its owner may read, in one step: a crash leaves the old content or the new. */
export function writePrivately(path: string, content: string): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, content, { mode: 0o600 });
  renameSync(temporary, path);
}
