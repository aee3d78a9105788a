import { randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import type { Options } from './options.ts';
import { UsageError } from './options.ts';

/** Format of the data folder; raised when an older launcher could not read what a newer one wrote. */
export const FORMAT = 1;
const DEFAULT_REPLICAS = 3;

const schema = v.object({
  format: v.number(),
  tenant: v.object({ uid: v.string(), name: v.string() }),
  replicas: v.number(),
  processes: v.number(),
  /** Ids of the replicas as last changed; without it the first ones, from 1. Only a hint: the log says who is a member. */
  members: v.optional(v.array(v.number())),
});

/** `DIR/cluster.json`: what cannot change over the life of a data folder. */
export type ClusterRecord = v.InferOutput<typeof schema>;

/**
 * Opens the data folder, or makes it. `defaultProcesses` is the layout of a new folder that was not asked for one.
 * Throws UsageError when it was written by another format, or for other replicas or processes than asked for.
 */
export function openDataFolder(options: Options, defaultProcesses: number): ClusterRecord {
  const { data } = options;
  const path = join(data, 'cluster.json');
  if (existsSync(path)) return matching(options, readRecord(path));
  if (existsSync(data) && readdirSync(data).length > 0) {
    throw new UsageError(`${data} is not empty and is no data folder of Gunwale: choose another with --data.`);
  }
  const replicas = options.replicas ?? DEFAULT_REPLICAS;
  const record: ClusterRecord = {
    format: FORMAT,
    tenant: { uid: randomUUID(), name: 'default' },
    replicas,
    processes: checkedProcesses(options.processes ?? defaultProcesses, replicas),
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
  if (format.success && format.output.format !== FORMAT) {
    throw new UsageError(
      `${path} has format ${format.output.format}, this version of Gunwale reads format ${FORMAT}: use the version that made the folder, or another folder with --data.`,
    );
  }
  const record = v.safeParse(schema, json);
  if (!record.success) throw failure;
  return record.output;
}

function matching(options: Options, record: ClusterRecord): ClusterRecord {
  for (const name of ['replicas', 'processes'] as const) {
    const asked = options[name];
    if (asked !== undefined && asked !== record[name]) {
      throw new UsageError(
        `${options.data} was made with --${name} ${record[name]}, not ${asked}: leave --${name} away, or choose another folder with --data.`,
      );
    }
  }
  return record;
}

/** Keeps the ids of the replicas for the next start, which begins to look for them there. */
export function noteMembers(data: string, members: number[]): void {
  const path = join(data, 'cluster.json');
  writePrivately(path, `${JSON.stringify({ ...readRecord(path), members }, null, 2)}\n`);
}

function checkedProcesses(processes: number, replicas: number): number {
  if (processes !== 1 && processes !== 2 && processes !== replicas) {
    throw new UsageError(`--processes must be 1, 2 or the number of replicas (${replicas}).`);
  }
  return processes;
}

/** Writes a file that only its owner may read, in one step: a crash leaves the old content or the new. */
export function writePrivately(path: string, content: string): void {
  const temporary = `${path}.new`;
  writeFileSync(temporary, content, { mode: 0o600 });
  renameSync(temporary, path);
}
