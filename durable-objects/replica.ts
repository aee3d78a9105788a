import { DurableObject } from 'cloudflare:workers';
import { type Bindings, parseConfig } from '../src/config.ts';
import { linkTo, parseReplicaUrl, type ReplicaCalls, replicaName } from '../src/protocol/address.ts';
import type { Identity, JoinRequest } from '../src/protocol/join.ts';
import { answerWriter, decodeAnswer, encodeFailure } from '../src/protocol/messages.ts';
import { RETENTION } from './keyspace/retention.ts';
import { DamagedError, damage, noteDamage } from './replica/damage.ts';
import { Driver } from './replica/driver.ts';
import type { Host } from './replica/host.ts';
import { IdentityStore } from './replica/identity.ts';
import { MIGRATIONS } from './replica/migrations.ts';
import { OPERATIONS } from './replica/operations.ts';
import { RaftLog, storedMembers } from './replica/raft-log.ts';
import { Refusal } from './replica/refusal.ts';
import { type AskPeers, encodeRowRequest, repair } from './replica/repair.ts';
import { WatchSockets } from './replica/sockets.ts';
import { migrate } from './replica/sql.ts';
import { SqlStaging } from './replica/sql-staging.ts';
import { SqlStorage } from './replica/sql-storage.ts';
import { Transport } from './replica/transport.ts';

/** How often a replica with corrupt rows asks its peers for them. */
const REPAIR_MS = 2_000;
/** How long a peer may take for one chunk of its state. */
const STATE_TIMEOUT_MS = 5_000;
/** How long a leader that a Worker could not reach may take to answer what is forwarded to it. */
const FORWARD_TIMEOUT_MS = 500;
/** How long a replica whose disk failed rests before it tries again. */
const RETRY_MS = 3_000;

interface Running {
  identity: Identity;
  driver: Driver;
  transport: Transport;
  life: Life;
}

/** Whether a driver has been stopped. */
interface Life {
  over: boolean;
}

/**
 * One replica of one shard. It comes to life on whatever address is first called, and stays nothing until a `join` gives
 * it an identity: without one it writes nothing, votes never and answers "not a replica".
 */
export class Replica extends DurableObject<Bindings> implements ReplicaCalls {
  readonly #sockets: WatchSockets;
  readonly #startedAt = Date.now();
  readonly #identity: IdentityStore;
  #running: Running | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #alarmAt: number | undefined;
  #poking = false;
  /** Something on disk is corrupt: nothing is answered and no message taken in until it is repaired. */
  #damaged = false;
  /** Not to be started before: its disk has just failed. */
  #restAt = 0;

  constructor(ctx: DurableObjectState, env: Bindings) {
    super(ctx, env);
    this.#sockets = new WatchSockets(ctx);
    this.#identity = new IdentityStore(ctx.storage.sql);
    this.#startIfMember(this.#identity.read());
  }

  /** What comes from other processes: `http://replica/TENANT/SHARD/ID/OPERATION`. */
  override async fetch(request: Request): Promise<Response> {
    const address = parseReplicaUrl(request.url);
    if (address === undefined || address.name !== this.ctx.id.name)
      return new Response('wrong address', { status: 421 });
    if (address.operation === 'watch' && this.#running !== undefined) return this.#sockets.accept();
    return new Response(await this.call(address.operation, new Uint8Array(await request.arrayBuffer())));
  }

  /**
   * Serves an operation; the answer is encoded, refusals included. `?suspect=ID` names a leader that the caller could not
   * reach, `raft?from=ID` the peer that the frame comes from.
   */
  async call(operation: string, body: Uint8Array): Promise<Uint8Array> {
    const [name, query] = operation.split('?');
    if (this.#damaged) return encodeFailure('unavailable', 0);
    if (name === 'join') return this.#join(JSON.parse(new TextDecoder().decode(body)) as JoinRequest);
    if (this.#running === undefined) return encodeFailure(this.#restAt > Date.now() ? 'unavailable' : 'notReplica', 0);
    const { driver, transport } = this.#running;
    const peer = query === undefined ? 0 : Number(query.slice(query.indexOf('=') + 1));
    if (name === 'raft') return transport.serve(peer, body);
    if (name === 'status') return this.#status(this.#running);
    try {
      const serve = OPERATIONS.get(name!);
      if (serve === undefined) throw new Refusal('malformed');
      return await serve(driver, body, peer);
    } catch (error) {
      if (error instanceof Refusal) return encodeFailure(error.status, driver.leader, error.revision);
      if (error instanceof DamagedError) {
        this.#fail(error);
        return encodeFailure('unavailable', driver.leader);
      }
      if (error instanceof RangeError) return encodeFailure('malformed', driver.leader);
      throw error;
    }
  }

  override async webSocketMessage(socket: WebSocket, data: ArrayBuffer | string): Promise<void> {
    await this.#sockets.message(socket, data).catch((error) => this.#fail(error));
  }

  override webSocketClose(socket: WebSocket): void {
    this.#sockets.gone(socket);
  }

  override webSocketError(socket: WebSocket): void {
    this.#sockets.gone(socket);
  }

  override async alarm(): Promise<void> {
    this.#alarmAt = undefined;
    await this.#running?.driver.wake().catch((error) => error instanceof DamagedError && this.#fail(error));
  }

  /** JSON: the driver's status, since when this object is in memory, and what keeps it there: all 0 when quiet. */
  #status({ driver, transport }: Running): Uint8Array {
    const armed = this.#timerAt < Number.POSITIVE_INFINITY ? 1 : 0;
    const pending = { timers: armed + this.#sockets.timers, calls: transport.calls + (this.#poking ? 1 : 0) };
    const status = { ...driver.status(), startedAt: this.#startedAt, pending };
    return answerWriter(driver.leader)
      .raw(new TextEncoder().encode(JSON.stringify(status)))
      .finish();
  }

  #join(request: JoinRequest): Uint8Array {
    const { tenant, shard, id } = request;
    if (this.ctx.id.name !== replicaName(tenant, shard, id)) return encodeFailure('malformed', 0);
    const { storage } = this.ctx;
    const identity = storage.transactionSync(() =>
      this.#identity.join(
        request,
        () => migrate(storage.sql, MIGRATIONS),
        () => crypto.randomUUID(),
      ),
    );
    if (identity?.state === 'retired') this.#stop();
    else this.#startIfMember(identity);
    const text = JSON.stringify(identity ?? null);
    return answerWriter(0).raw(new TextEncoder().encode(text)).finish();
  }

  #startIfMember(identity: Identity | undefined): void {
    if (identity?.state !== 'started' || this.#running !== undefined || Date.now() < this.#restAt) return;
    this.#start(identity);
  }

  /** Ends the driver: what waits is given up, and nothing that it still tries has an effect. */
  #stop(): void {
    const running = this.#running;
    if (running === undefined) return;
    this.#running = undefined;
    running.life.over = true;
    running.driver.stop();
    this.#sockets.dismiss();
    this.#setTimer(undefined);
  }

  /**
   * The disk failed, or what is on it contradicts itself. Memory may be ahead of the disk now, so the replica steps down
   * without another word and is built anew from disk later; what it has acknowledged is there.
   */
  #fail(error: unknown, life = this.#running?.life): void {
    if (life?.over) return;
    if (error instanceof DamagedError) {
      this.#failDamaged(error);
      return;
    }
    console.error('the replica stops and will try again', error);
    this.#stop();
    this.#restAt = Date.now() + RETRY_MS;
    setTimeout(() => {
      this.#restAt = 0;
      this.#startIfMember(this.#identity.read());
    }, RETRY_MS);
  }

  /** Builds everything anew from disk, once what is corrupt there is noted durably. */
  #failDamaged(error: DamagedError): void {
    console.error(error);
    if (this.#damaged) return;
    this.#damaged = true;
    const { storage } = this.ctx;
    noteDamage(storage.sql, error);
    this.ctx.waitUntil(storage.sync().finally(() => this.ctx.abort(String(error))));
  }

  #start(identity: Identity): void {
    const { sql } = this.ctx.storage;
    this.ctx.storage.transactionSync(() => migrate(sql, MIGRATIONS));
    this.#damaged = damage(sql).length > 0;
    if (this.#damaged) {
      this.ctx.waitUntil(this.#repair(identity));
      return;
    }
    try {
      this.#run(identity, new RaftLog(sql, Object.keys(identity.founders ?? {}).map(Number)));
    } catch (error) {
      this.#fail(error);
    }
  }

  #run(identity: Identity, log: RaftLog): void {
    const { sql } = this.ctx.storage;
    const life: Life = { over: false };
    const limits = { ...RETENTION, ms: parseConfig(this.env.GUNWALE_CONFIG).compactionIntervalSeconds * 1000 };
    const driver = new Driver(
      this.#host(identity, life),
      log,
      new SqlStorage(sql),
      this.#sockets,
      limits,
      new SqlStaging(sql),
    );
    const transport = new Transport({
      post: (peer, frame, timeoutMs) =>
        linkTo(this.env, identity.tenant, identity.shard, peer).call(`raft?from=${identity.id}`, frame, timeoutMs),
      report: () => driver.report(),
      heard: (peer, report) => driver.heard(peer, report),
      step: (messages) => driver.step(messages),
      unreachable: (peer) => driver.unreachable(peer),
    });
    this.#running = { identity, driver, transport, life };
    this.#sockets.start(driver);
  }

  #host({ tenant, shard, id }: Identity, life: Life): Host {
    const { storage } = this.ctx;
    return {
      id,
      now: () => Date.now(),
      random: () => Math.random(),
      send: (messages: Parameters<Transport['send']>[0]) => this.#running?.transport.send(messages),
      yieldTask: () => scheduler.wait(0),
      transaction: (write: () => void) => {
        if (life.over) throw new Error('the replica was stopped');
        storage.transactionSync(write);
      },
      setTimer: (at: number | undefined) => {
        if (!life.over) this.#setTimer(at);
      },
      sleep: (alarm: number | undefined) => this.#sleep(alarm),
      fetchState: async (peer: number, request: Uint8Array) => {
        const link = linkTo(this.env, tenant, shard, peer);
        const answer = decodeAnswer(await link.call(`state?from=${id}`, request, STATE_TIMEOUT_MS));
        if (answer.status !== 'ok') throw new Error(`replica ${peer} gives no state: ${answer.status}`);
        return answer.payload;
      },
      forward: (leader: number, proposal: Uint8Array) =>
        linkTo(this.env, tenant, shard, leader).call('propose', proposal, FORWARD_TIMEOUT_MS),
      orphaned: () => this.#sockets.dismiss(),
      pokeLoops: () => this.#pokeLoops(),
      fail: (error: unknown) => this.#fail(error, life),
    };
  }

  async #repair(identity: Identity): Promise<void> {
    const { sql } = this.ctx.storage;
    const ask = this.#askPeers(identity);
    for (;;) {
      const left = await repair(sql, ask, (write) => this.ctx.storage.transactionSync(write));
      if (left.length === 0) break;
      console.error(`replica ${identity.id} is stopped: corrupt rows ${JSON.stringify(left)}`);
      await scheduler.wait(REPAIR_MS);
    }
    this.#start(identity);
  }

  #askPeers({ tenant, shard, id }: Identity): AskPeers {
    return async (request, accept) => {
      for (const peer of storedMembers(this.ctx.storage.sql)) {
        if (peer === id) continue;
        try {
          const answer = await linkTo(this.env, tenant, shard, peer).call('row', encodeRowRequest(request), REPAIR_MS);
          const { status, payload } = decodeAnswer(answer);
          if (status === 'ok' && accept(payload)) return true;
        } catch {
          // This peer cannot help now; another may.
        }
      }
      return false;
    };
  }

  /** Keeps one timer, at or before the time asked for. */
  #setTimer(at: number | undefined): void {
    if (at === undefined || at < this.#timerAt) {
      clearTimeout(this.#timer);
      this.#timerAt = Number.POSITIVE_INFINITY;
    }
    if (at === undefined || at >= this.#timerAt) return;
    this.#timerAt = at;
    this.#timer = setTimeout(
      () => {
        this.#timerAt = Number.POSITIVE_INFINITY;
        try {
          this.#running?.driver.tick();
        } catch (error) {
          this.#fail(error);
        }
      },
      Math.max(0, at - Date.now()),
    );
  }

  #sleep(alarm: number | undefined): void {
    this.#sockets.save();
    if (alarm === undefined || alarm === this.#alarmAt) return;
    this.#alarmAt = alarm;
    this.ctx.waitUntil(this.ctx.storage.setAlarm(alarm));
  }

  /** Tells the control loops that there is work; they look by themselves too, so a lost call costs only time. */
  #pokeLoops(): void {
    const tenant = this.#running?.identity.tenant;
    if (tenant === undefined || this.#poking) return;
    this.#poking = true;
    const { LOOPS, LOOPS_GATEWAY } = this.env;
    const poke = LOOPS
      ? LOOPS.getByName(tenant).fetch('http://loops/poke', { method: 'POST' })
      : LOOPS_GATEWAY?.fetch(`http://loops/${tenant}/poke`, { method: 'POST' });
    const done = Promise.resolve(poke)
      .then((response) => response?.arrayBuffer())
      .catch(() => undefined)
      .finally(() => {
        this.#poking = false;
      });
    this.ctx.waitUntil(done);
  }
}
