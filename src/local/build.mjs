import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeDescriptions } from './descriptions.mjs';

const common = { bundle: true, format: 'esm', legalComments: 'none', loader: { '.sql': 'text' }, metafile: true };
const forWorkerd = {
  ...common,
  target: 'es2024',
  conditions: ['workerd', 'worker', 'browser'],
  external: ['cloudflare:*', 'node:*'],
};

/** What is built, from which entry: name of the output in the cache folder, entry, esbuild options. */
const products = [
  { output: 'worker.js', entry: 'src/worker.ts', options: forWorkerd },
  { output: 'replica.js', entry: 'durable-objects/main.ts', options: forWorkerd },
  {
    output: 'local.mjs',
    entry: 'src/local/main.ts',
    options: {
      ...common,
      platform: 'node',
      target: 'node20',
      external: ['@peculiar/x509', 'reflect-metadata', 'workerd', 'yaml'],
    },
  },
];

/**
 * Bundles the Worker, the replica and the launcher into node_modules/.cache/gunwale and returns their paths.
 * A product whose inputs kept size and time since its last build is left alone.
 */
export async function build(root, say) {
  const cache = join(root, 'node_modules/.cache/gunwale');
  mkdirSync(cache, { recursive: true });
  const lockfile = fingerprint(root, ['package-lock.json', 'src/local/build.mjs', 'src/local/descriptions.mjs']);
  const stale = products.filter((product) => !fresh(root, cache, product, lockfile));
  if (stale.length > 0) {
    say(`Building ${stale.map(({ output }) => output).join(', ')} …`);
    writeDescriptions(root);
    const esbuild = await import('esbuild');
    for (const product of stale) await bundle(esbuild, root, cache, product, lockfile);
    await esbuild.stop();
  }
  return Object.fromEntries(products.map(({ output }) => [output.replace(/\..*/, ''), join(cache, output)]));
}

async function bundle(esbuild, root, cache, { output, entry, options }, lockfile) {
  const final = join(cache, output);
  const outfile = join(cache, `${process.pid}-${output}`);
  let result;
  try {
    result = await esbuild.build({
      ...options,
      absWorkingDir: root,
      entryPoints: [entry],
      outfile,
      logLevel: 'warning',
    });
  } catch {
    throw new Error(`${entry} does not build.`);
  }
  const inputs = Object.keys(result.metafile.inputs).filter((path) => !path.startsWith('node_modules/'));
  renameSync(outfile, final);
  writeFileSync(`${final}.inputs`, JSON.stringify({ inputs, lockfile, fingerprint: fingerprint(root, inputs) }));
}

function fresh(root, cache, { output }, lockfile) {
  const record = join(cache, `${output}.inputs`);
  if (!existsSync(record) || !existsSync(join(cache, output))) return false;
  const last = JSON.parse(readFileSync(record, 'utf8'));
  return last.lockfile === lockfile && last.fingerprint === fingerprint(root, last.inputs);
}

function fingerprint(root, paths) {
  return paths
    .map((path) => {
      const file = statSync(join(root, path), { throwIfNoEntry: false });
      return file ? `${file.size}@${file.mtimeMs}` : 'gone';
    })
    .join(' ');
}
