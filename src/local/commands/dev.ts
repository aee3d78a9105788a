import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { clusterKeys, serverNames } from '../certificates.ts';
import { openFront, workerConfig } from '../cluster.ts';
import { openDataFolder, tenantOf, writePrivately } from '../data-folder.ts';
import { openEgress } from '../egress.ts';
import { kubeconfig } from '../kubeconfig.ts';
import { parseOptions } from '../options.ts';
import { nodeModules, projectFolder } from '../project.ts';

const DEFAULT_PORT = 8787;

/**
 * `npm run dev`: `wrangler dev` on plain HTTP, with a kubeconfig that holds an administrator's token. kubectl sends no
 * token over plain HTTP (client-go drops it), so the kubeconfig leads through the TLS front, one port above; the egress service is two above.
 */
export async function dev(args: string[]): Promise<number> {
  const chosen = parseOptions(['--port', String(DEFAULT_PORT), ...args]);
  const options = { ...chosen, data: join(chosen.data, 'dev') };
  const record = openDataFolder(options, 1);
  const keys = await clusterKeys(join(options.data, 'pki'), serverNames('10.0.0.1', []));
  const token = keepToken(join(options.data, 'token'));
  const config = JSON.parse(workerConfig(options, tenantOf(record), keys)) as Record<string, unknown>;
  config.staticTokens = `${token},kubernetes-admin,kubernetes-admin,"system:masters"\n${config.staticTokens}`;
  const variables = join(options.data, 'variables.env');
  const egressKey = randomBytes(32).toString('hex');
  const way = `EGRESS_URL=http://127.0.0.1:${options.port + 2}/\nEGRESS_KEY=${egressKey}\n`;
  writePrivately(variables, `GUNWALE_CONFIG='${JSON.stringify(config)}'\n${way}`);
  const egress = await openEgress({ host: '127.0.0.1', port: options.port + 2 }, egressKey);
  const file = join(options.data, 'kubeconfig');
  const upstream = { port: options.port, host: '127.0.0.1' };
  const front = await openFront(
    { ...options, port: options.port + 1 },
    { tls: keys.server, upstream, cfBlobHeader: 'cf-unused' },
  );
  writePrivately(file, kubeconfig(`https://127.0.0.1:${front.port}`, keys.ca.cert, { token }));
  process.stdout.write(`\n  export KUBECONFIG=${file}\n  kubectl get namespaces\n\n`);
  const code = await wrangler([
    'dev',
    '--ip',
    '127.0.0.1',
    '--port',
    String(options.port),
    '--env-file',
    variables,
    '--persist-to',
    join(options.data, 'state'),
  ]);
  front.close();
  egress.close();
  return code;
}

function keepToken(path: string): string {
  mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
  if (!existsSync(path)) writePrivately(path, randomBytes(24).toString('hex'));
  return readFileSync(path, 'utf8');
}

function wrangler(args: string[]): Promise<number> {
  const script = join(nodeModules, 'wrangler/bin/wrangler.js');
  const child = spawn(process.execPath, [script, ...args], { stdio: 'inherit', cwd: projectFolder });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
  process.on('disconnect', () => child.kill('SIGTERM'));
  return new Promise((resolve) => child.on('exit', (code) => resolve(code ?? 0)));
}
