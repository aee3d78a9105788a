import { startCluster } from '../cluster.ts';
import { parseOptions } from '../options.ts';

/** `npm start`: runs a cluster in the foreground until a signal, or until the process that started this one is gone. */
export async function start(args: string[]): Promise<number> {
  const options = parseOptions(args);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const stopped = stopRequested();
  const startedAt = performance.now();
  const cluster = await startCluster(options, say);
  process.stdout.write(
    `Ready after ${((performance.now() - startedAt) / 1000).toFixed(2)} s on ${cluster.url}. Ctrl-C ends it.\n\n` +
      `  export KUBECONFIG=${cluster.kubeconfig}\n  kubectl get namespaces\n\n`,
  );
  await stopped;
  await cluster.stop();
  return 0;
}

function stopRequested(): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['SIGINT', 'SIGTERM', 'SIGHUP', 'disconnect']) process.on(event, () => resolve());
  });
}
