import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { openEgress } from '../egress.ts';
import { UsageError } from '../options.ts';

const DEFAULT_PORT = '8790';
/** A key that could be guessed would open the network to everyone. */
const MIN_KEY_LENGTH = 32;
const USAGE = 'usage: npm run egress -- --key-file FILE [--host ADDRESS] [--port N]';

/**
 * `npm run egress`: the egress service of a Worker in production, to be run where webhooks, Services and kubelets can be
 * reached. The Worker finds it through a VPC binding `EGRESS` or by the variable `EGRESS_URL`, and knows the key as the
 * secret `EGRESS_KEY`.
 */
export async function egress(args: string[]): Promise<number> {
  const { host, port, key } = options(args);
  const service = await openEgress({ host, port }, key);
  process.stdout.write(`Egress service ready on ${host}:${port}. Ctrl-C ends it.\n`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
    process.on('disconnect', () => resolve());
  });
  service.close();
  return 0;
}

function options(args: string[]): { host: string; port: number; key: string } {
  const { values } = parseArgs({
    args,
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: DEFAULT_PORT },
      'key-file': { type: 'string' },
    },
  });
  const file = values['key-file'];
  if (file === undefined || !existsSync(file)) throw new UsageError(USAGE);
  const key = readFileSync(file, 'utf8').trim();
  if (key.length < MIN_KEY_LENGTH) throw new UsageError(`${file} must hold at least ${MIN_KEY_LENGTH} characters.`);
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UsageError(`--port ${values.port} is no port.`);
  return { host: values.host, port, key };
}
