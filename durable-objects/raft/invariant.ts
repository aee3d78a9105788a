/** A broken invariant of the algorithm: carrying on would corrupt the log, so the replica must stop. */
export class InvariantError extends Error {
  override name = 'InvariantError';
}

/** Throws InvariantError with `message()` unless `holds`. */
export function invariant(holds: boolean, message: () => string): asserts holds {
  if (!holds) throw new InvariantError(message());
}
