import { UsageError, usage } from './options.ts';

/** Every command of the project's package.json, by name; resolves with the exit code. */
const commands: Record<string, (args: string[]) => Promise<number>> = {
  start: async (args) => (await import('./commands/start.ts')).start(args),
  dev: async (args) => (await import('./commands/dev.ts')).dev(args),
  check: async () => (await import('./commands/check.ts')).check(),
  test: async () => (await import('./commands/test.ts')).test(),
  conformance: async (args) => (await import('./commands/test.ts')).conformance(args),
  e2e: async (args) => (await import('./commands/test.ts')).endToEnd(args),
  egress: async (args) => (await import('./commands/egress.ts')).egress(args),
  replicas: async (args) => (await import('./commands/replicas.ts')).replicas(args),
  script: async (args) => (await import('./commands/script.ts')).script(args),
};

async function main(): Promise<number> {
  const [command = 'start', ...args] = process.argv.slice(2);
  if (command === 'start' && args.includes('--help')) {
    process.stdout.write(`${usage()}\n`);
    return 0;
  }
  const chosen = commands[command];
  if (!chosen) throw new UsageError(`There is no command ${command}.`);
  return chosen(args);
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(error instanceof UsageError ? `gunwale: ${error.message}\n` : `${(error as Error).stack}\n`);
  process.exitCode = 1;
}
if (process.connected) process.disconnect?.();
