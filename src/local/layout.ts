import { join } from 'node:path';

/** One workerd process: what it hosts, which replicas it owns and where its Durable Objects are stored. */
export interface ProcessPlan {
  /** Name in logs, in run.json and of its files: `api`, `replicas`, `replica-2`. */
  role: string;
  /** True for the process that serves clients and hosts the control loops. */
  api: boolean;
  /** Places whose replicas' Durable Objects live here: 2 stands for replica 2 and whatever takes its place. */
  owns: number[];
  /** Folder of its Durable Objects. */
  disk: string;
}

/**
 * The processes of a cluster. `processes` 1: everything in one; 2: the API and all replicas apart; otherwise the API
 * and every replica apart.
 */
export function planProcesses(dataFolder: string, replicas: number[], processes: number): ProcessPlan[] {
  const api = { role: 'api', api: true, disk: join(dataFolder, 'api') };
  if (processes === 1) return [{ ...api, owns: replicas }];
  const groups = processes === 2 ? [replicas] : replicas.map((id) => [id]);
  const rest = groups.map((owns) => {
    const role = owns.length === 1 ? `replica-${owns[0]}` : 'replicas';
    return { role, api: false, owns, disk: join(dataFolder, role) };
  });
  return [{ ...api, owns: [] }, ...rest];
}
