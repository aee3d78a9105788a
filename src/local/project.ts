import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of the build outputs, in which the bundled launcher lies itself. */
export const cacheFolder = dirname(fileURLToPath(import.meta.url));
export const nodeModules = dirname(dirname(cacheFolder));
/** Folder of the checkout. */
export const projectFolder = dirname(nodeModules);

/** Path of a file below the checkout. */
export function projectFile(...parts: string[]): string {
  return join(projectFolder, ...parts);
}
