import { request } from 'node:http';
import { join } from 'node:path';
import { replicaName } from '../../src/protocol/address.ts';
import { decodeAnswer } from '../../src/protocol/messages.ts';
import type { StartedCluster } from './local-cluster.ts';

/** What a replica says of itself, as far as tests look at it. */
export interface ReplicaStatus {
  id: number;
  role: string;
  leader: number;
  term: number;
  applied: number;
  firstIndex: number;
  lastIndex: number;
  quiescent: boolean;
  scalars: { revision: number; compacted: number; logFloor: number };
  watchers: number;
  /** Time in ms since when its object is in memory. */
  startedAt: number;
  /** What keeps it in memory. */
  pending: { timers: number; calls: number };
}

const TIMEOUT_MS = 5_000;

/** Asks a replica of a cluster whose replicas have a process of their own. Loads one that is not in memory. */
export async function replicaStatus(cluster: StartedCluster, id: number): Promise<ReplicaStatus> {
  const { sockets, processes } = cluster.run();
  const places = Object.keys(processes).filter((name) => name.startsWith('replica-')).length;
  const role = places > 0 ? `replica-${((id - 1) % places) + 1}` : 'replicas';
  const path = `/${replicaName(cluster.tenant, 'main', id)}/status`;
  const bytes = await post(join(sockets, `${role}.sock`), path);
  const { status, payload } = decodeAnswer(bytes);
  if (status !== 'ok') throw new Error(`replica ${id} answered ${status}`);
  return JSON.parse(new TextDecoder().decode(payload)) as ReplicaStatus;
}

function post(socketPath: string, path: string): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const headers = { host: 'replica', 'content-length': 0 };
    const outgoing = request({ socketPath, path, method: 'POST', agent: false, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks));
        else reject(new Error(`${path}: ${response.statusCode}`));
      });
    });
    outgoing.setTimeout(TIMEOUT_MS, () => outgoing.destroy(new Error(`${path}: no answer`)));
    outgoing.on('error', reject);
    outgoing.end();
  });
}
