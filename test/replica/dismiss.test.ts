import { expect, it } from 'vitest';
import type { Driver } from '../../durable-objects/replica/driver.ts';
import { WatchSockets } from '../../durable-objects/replica/sockets.ts';
import { encodeSpec } from '../../src/protocol/watch.ts';

it('ends every watch when the disk fails, also those that have not started', async () => {
  const full = () => {
    throw new Error('database or disk is full: SQLITE_FULL');
  };
  const sockets = new WatchSockets({
    storage: { sql: { exec: full } },
    getWebSockets: () => [],
  } as unknown as DurableObjectState);
  // Nobody is as fresh as these watches want.
  const driver = { readable: () => new Promise(() => undefined), hub: { close: () => undefined } };
  sockets.start(driver as unknown as Driver);
  const closed: number[] = [];
  const start = { type: 'initial' as const, consistency: { type: 'linearizable' as const } };
  for (const at of [0, 1]) {
    const socket = { deserializeAttachment: () => null, close: () => closed.push(at) };
    const spec = encodeSpec({ prefix: '/registry/', start }).slice().buffer;
    void sockets.message(socket as unknown as WebSocket, spec as ArrayBuffer);
  }
  sockets.dismiss();
  expect(closed).toEqual([0, 1]);
});
