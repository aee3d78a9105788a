import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonValue } from '../object.ts';

const MODE_RULE = 'must be a number between 0 and 0777 (octal), both inclusive';

/** A cause where a path goes up. */
export function backstepFaults(path: string, at: string): StatusCause[] {
  return path.split('/').includes('..') ? [causes.invalid(at, path, "must not contain '..'")] : [];
}

/** Causes where a path does not stay below where it starts. */
export function descendingPathFaults(path: string, at: string): StatusCause[] {
  const out = path.startsWith('/') ? [causes.invalid(at, path, 'must be a relative path')] : [];
  return [...out, ...backstepFaults(path, at)];
}

/** Causes in the path of a file in a volume: names that begin with two dots are the volume's own. */
export function filePathFaults(path: string, at: string): StatusCause[] {
  const out = descendingPathFaults(path, at);
  if (!path.startsWith('..') || path.startsWith('../')) return out;
  return [...out, causes.invalid(at, path, "must not start with '..'")];
}

/** A cause where permission bits are not within 0777. */
export function fileModeFaults(mode: JsonValue | undefined, at: string): StatusCause[] {
  return typeof mode === 'number' && (mode < 0 || mode > 0o777) ? [causes.invalid(at, mode, MODE_RULE)] : [];
}
