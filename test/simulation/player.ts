// A process that plays one seed after the other, as its parent asks for them.
import './hooks.ts';
import type { Options } from './run.ts';

const { replaceGlobals } = await import('./globals.ts');
const { play } = await import('./run.ts');
const start = setImmediate;
replaceGlobals();
process.on('message', (options: Options) => {
  // Outside the message's own promise jobs: the simulation runs its own to the end.
  start(() => process.send!(play(options)));
});
process.send!('ready');
