import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { Environment } from './support/environment.ts';
import { parseScript, playScript } from './support/script.ts';

const folder = `${import.meta.dirname}/testdata`;
const rewrite = process.env.REWRITE === '1';

/** REWRITE=1 records the transcripts anew; the reviewer reads the difference. */
describe('transcripts', () => {
  for (const name of readdirSync(folder).filter((file) => file.endsWith('.txt'))) {
    test(name, () => {
      const file = `${folder}/${name}`;
      const recorded = readFileSync(file, 'utf8');
      const environment = new Environment();
      const played = playScript(parseScript(recorded), (command) => environment.run(command));
      if (rewrite && played !== recorded) writeFileSync(file, played);
      if (!rewrite) expect(played).toBe(recorded);
    });
  }
});
