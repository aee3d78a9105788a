/** What became of an item of work: finished, or to be tried again after a while. */
export type Outcome = 'done' | 'later';
