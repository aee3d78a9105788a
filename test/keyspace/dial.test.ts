import { expect, it, vi } from 'vitest';
import type { Route } from '../../src/keyspace/route.ts';
import { openWatch } from '../../src/keyspace/watch.ts';
import { encodeFrame } from '../../src/protocol/watch.ts';

type Listener = (event: { data: ArrayBuffer }) => void;

/** The Worker's end of a socket whose other end is this test. */
class Socket {
  binaryType = '';
  closed = false;
  readonly #listeners: Listener[] = [];

  accept(): void {}
  send(): void {}

  addEventListener(type: string, listener: Listener): void {
    if (type === 'message') this.#listeners.push(listener);
  }

  close(): void {
    this.closed = true;
  }

  says(frame: Uint8Array): void {
    for (const listener of this.#listeners) listener({ data: frame.slice().buffer as ArrayBuffer });
  }
}

it('does not listen to a replica that it has given up, also when that answers late', async () => {
  vi.useFakeTimers();
  const sockets: Socket[] = [];
  const upgrade = async () => {
    const socket = new Socket();
    sockets.push(socket);
    return { webSocket: socket } as unknown as Response;
  };
  const route = {
    members: [1, 2],
    memory: { leader: 0, seen: 0, ahead: 0, avoid: new Map() },
    link: () => ({ upgrade, call: () => Promise.reject(new Error('no calls here')) }),
    spread: () => [1, 2],
    failed: () => undefined,
  } as unknown as Route;
  const sleep = async () => undefined;
  const request = { prefix: '/registry/pods/', start: { type: 'after' as const, revision: 5 } };
  const opening = openWatch(
    route,
    { now: () => Date.now(), random: () => 0, sleep },
    request,
    new AbortController().signal,
  );
  await vi.advanceTimersByTimeAsync(6_000);
  expect(sockets).toHaveLength(2);
  expect(sockets[0]!.closed).toBe(true);
  sockets[1]!.says(encodeFrame('started', 5));
  const stream = await opening;
  sockets[1]!.says(encodeFrame('progress', 9));
  sockets[0]!.says(encodeFrame('started', 5));
  sockets[0]!.says(encodeFrame('progress', 6));
  sockets[1]!.says(encodeFrame('progress', 10));
  const events = await stream.next();
  expect(events).toEqual([9, 10].map((revision) => ({ type: 'progress', revision })));
  stream.close();
  vi.useRealTimers();
});
