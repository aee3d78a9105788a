/** A fault that the user can mend; its message is the one sentence that is printed. */
export class UsageError extends Error {
  override name = 'UsageError';
}

/** A flag of `npm start` that sets something of `O`. */
export interface Flag<O> {
  name: string;
  value: string;
  help: string;
  set(options: O, text: string): void;
}

/** The members of a list with commas. */
export const names = (text: string): string[] => text.split(',').filter((name) => name !== '');
