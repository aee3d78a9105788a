/** The checks of what clients saw; see `types.ts` for what they take. */
export { checkLinearizable, type Verdict } from './linearizability.ts';
export { settleUnknown } from './patch.ts';
export { answersAgree, exactlyOnce, listsShowOneState, revisionsRise } from './revisions.ts';
export { Truth } from './truth.ts';
export type * from './types.ts';
export { checkWatch, WATCH_GUARANTEES } from './watch.ts';
