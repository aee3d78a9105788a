import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const folder = `${import.meta.dirname}/../../durable-objects/raft`;
const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));

/** What each module may import, so that the algorithm reads from the bottom up. */
const IMPORTS: Record<string, string[]> = {
  'types.ts': [],
  'bytes.ts': [],
  'invariant.ts': [],
  'quorum.ts': ['types'],
  'inflights.ts': ['types'],
  'config.ts': ['types'],
  'membership.ts': ['types'],
  'codec.ts': ['bytes', 'types'],
  'describe.ts': ['codec', 'types'],
  'tracker.ts': ['inflights', 'quorum', 'types'],
  'log.ts': ['invariant', 'types'],
  'state.ts': ['config', 'invariant', 'log', 'tracker', 'types'],
  'replication.ts': ['invariant', 'log', 'state', 'tracker', 'types'],
  'reads.ts': ['state', 'types'],
  'follower.ts': ['invariant', 'state', 'types'],
  'leader.ts': ['codec', 'membership', 'reads', 'replication', 'state', 'types'],
  'election.ts': ['leader', 'quorum', 'state', 'types'],
  'raft.ts': ['election', 'follower', 'leader', 'reads', 'replication', 'state', 'types'],
};

const BANNED =
  /\bDate\b|Math\.random|setTimeout|setInterval|\basync\b|\bawait\b|Promise|\bconsole\b|\bfetch\(|crypto|process\./;

describe('the core is pure', () => {
  test.each(files)('%s has no clock, randomness, timer, promise or output', (file) => {
    const code = readFileSync(`${folder}/${file}`, 'utf8').replaceAll(/\/\*\*[\s\S]*?\*\/|\/\/.*/g, '');
    expect(code).not.toMatch(BANNED);
  });

  test.each(files)('%s imports only what lies below it', (file) => {
    const code = readFileSync(`${folder}/${file}`, 'utf8');
    const imported = [...code.matchAll(/from '([^']+)'/g)].map(([, path]) => path!);
    for (const path of imported) expect(path).toMatch(/^\.\/[a-z]+\.ts$/);
    const names = [...new Set(imported.map((path) => path.slice(2, -3)))].sort();
    if (file !== 'node.ts') expect(IMPORTS[file]).toEqual(names);
  });
});
