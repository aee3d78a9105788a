/** Letters and digits that make no words and look like nothing else. */
const ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX = 5;
const MAX_LENGTH = 63;

/** A name made of `generateName`, cut so that five random characters fit behind it in 63. */
export function generatedName(base: string): string {
  const random = crypto.getRandomValues(new Uint32Array(SUFFIX));
  const suffix = Array.from(random, (n) => ALPHABET[n % ALPHABET.length]).join('');
  return base.slice(0, MAX_LENGTH - SUFFIX) + suffix;
}
