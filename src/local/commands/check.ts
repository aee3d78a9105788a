import { runTool, type Tally } from '../tools.ts';

/** The checks that run nothing of the program: format, lint, types. */
export async function checks(): Promise<Tally[]> {
  return [
    await runTool('format and lint', '@biomejs/biome/bin/biome', ['check', '.']),
    await runTool('types', 'typescript/bin/tsc', ['-p', '.']),
  ];
}

/** `npm run check`. */
export async function check(): Promise<number> {
  return (await checks()).some(({ failed }) => failed > 0) ? 1 : 0;
}
