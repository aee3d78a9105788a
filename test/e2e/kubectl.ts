import { spawn, spawnSync } from 'node:child_process';

export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

const binary = process.env.KUBECTL ?? 'kubectl';

/** Runs kubectl against the cluster of KUBECONFIG; never throws. */
export function tryKubectl(args: string[], input?: string): Outcome {
  const { status, stdout, stderr } = spawnSync(binary, args, { encoding: 'utf8', input, maxBuffer: 64 * 1024 * 1024 });
  return { code: status ?? -1, stdout, stderr };
}

/** Runs kubectl and returns what it printed; throws with its error when it fails. */
export function kubectl(args: string[], input?: string): string {
  const { code, stdout, stderr } = tryKubectl(args, input);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: exit code ${code}: ${stderr}`);
  return stdout;
}

/** The object or list that a `kubectl get` names. */
export function getJson(args: string[]): Record<string, unknown> & { items: Record<string, unknown>[] } {
  return JSON.parse(kubectl(['get', ...args, '-o', 'json']));
}

/** A kubectl that keeps running; `lines` is what it printed so far. */
export interface Following {
  lines: string[];
  until(good: (lines: string[]) => boolean): Promise<void>;
  stop(): void;
}

/** Starts a kubectl that streams, such as `get --watch`. */
export function follow(args: string[]): Following {
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  const lines: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (text + chunk.toString()).split('\n');
    text = parts.pop() ?? '';
    lines.push(...parts);
  });
  return {
    lines,
    until: async (good) => {
      for (let tries = 0; tries < 200; tries++) {
        if (good(lines)) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`kubectl ${args.join(' ')} printed only:\n${lines.join('\n')}`);
    },
    stop: () => child.kill(),
  };
}
