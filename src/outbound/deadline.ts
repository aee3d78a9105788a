import { CANCELED, DEADLINE, OutboundError, type OutboundRequest } from './types.ts';

/**
 * Does an exchange within the request's time and signal: what `act` throws when either has fired becomes the error
 * that Go has for it.
 */
export async function withDeadline<T>(request: OutboundRequest, act: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { timeoutMilliseconds, signal } = request;
  const deadline = new AbortController();
  const timer = timeoutMilliseconds && setTimeout(() => deadline.abort(), timeoutMilliseconds);
  const either = signal ? AbortSignal.any([signal, deadline.signal]) : deadline.signal;
  const given = new Promise<never>((_, reject) => {
    const stop = () => reject(new OutboundError(request, signal?.aborted ? CANCELED : DEADLINE));
    if (either.aborted) stop();
    else either.addEventListener('abort', stop, { once: true });
  });
  given.catch(() => undefined);
  try {
    return await Promise.race([act(either), given]);
  } catch (error) {
    if (signal?.aborted) throw new OutboundError(request, CANCELED);
    if (deadline.signal.aborted) throw new OutboundError(request, DEADLINE);
    throw error instanceof OutboundError ? error : new OutboundError(request, messageOf(error));
  } finally {
    if (timer) clearTimeout(timer);
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
