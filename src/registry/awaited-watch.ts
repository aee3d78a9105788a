import { FutureRevisionError, type WatchEvent, type WatchStream } from '../keyspace/types.ts';

/** Milliseconds that a watch may take to open before its answer begins without it. */
const PROMPT_MS = 500;

/**
 * Opens a watch that goes on after a revision. One from a revision that lies ahead is no error: like upstream's watch
 * cache, it says nothing until the revision is there. `open` must give up when the caller's signal is aborted. Rejects as
 * `open` does, if that happens at once.
 */
export async function openAwaited(open: () => Promise<WatchStream>): Promise<WatchStream> {
  const stream = new AwaitedStream(open);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const prompt = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PROMPT_MS);
  });
  try {
    await Promise.race([stream.opened, prompt]);
  } finally {
    clearTimeout(timer);
  }
  return stream;
}

class AwaitedStream implements WatchStream {
  readonly opened: Promise<WatchStream>;
  #stream: WatchStream | undefined;
  #closed = false;
  #wantsProgress = false;

  constructor(open: () => Promise<WatchStream>) {
    this.opened = this.#keepOpening(open);
    this.opened.catch(() => undefined);
  }

  async next(): Promise<WatchEvent[] | undefined> {
    return (this.#stream ?? (await this.opened)).next();
  }

  progress(): void {
    if (this.#stream) this.#stream.progress();
    else this.#wantsProgress = true;
  }

  close(): void {
    this.#closed = true;
    this.#stream?.close();
  }

  async #keepOpening(open: () => Promise<WatchStream>): Promise<WatchStream> {
    for (;;) {
      try {
        this.#stream = await open();
        if (this.#closed) this.#stream.close();
        else if (this.#wantsProgress) this.#stream.progress();
        return this.#stream;
      } catch (error) {
        if (this.#closed || !(error instanceof FutureRevisionError)) throw error;
      }
    }
  }
}
