import { readFileSync, statSync } from 'node:fs';
import { UsageError } from './usage.ts';

/** The text of a file that a flag names; `what` is how the refusal calls it. Throws UsageError where it cannot be read. */
export function readGiven(what: string, path: string): string {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) throw new UsageError(`The ${what} ${path} cannot be read.`);
  return readFileSync(path, 'utf8');
}

/** PEM certificates of a file that a flag names. Throws UsageError where it cannot be read or holds none. */
export function readCertificates(what: string, path: string): string {
  const pem = readGiven(what, path);
  if (!pem.includes('-----BEGIN CERTIFICATE-----'))
    throw new UsageError(`The ${what} ${path} holds no PEM certificate.`);
  return pem;
}
