import { UsageError } from '../options.ts';
import { projectFile } from '../project.ts';
import { run } from '../tools.ts';

/** Runs a TypeScript file of the project in this Node.js, which strips its types. */
export async function script(args: string[]): Promise<number> {
  const [file, ...rest] = args;
  if (file === undefined) throw new UsageError('Which script is to be run?');
  return run(process.execPath, [projectFile(file), ...rest]);
}
