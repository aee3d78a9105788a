/** What became of an item of work: finished, or to be tried again after a while. */
export type Outcome = 'done' | 'later' | Again;

/** All is well, but to be looked at again after so many milliseconds: nothing tells when it no longer is. */
export interface Again {
  again: number;
}
