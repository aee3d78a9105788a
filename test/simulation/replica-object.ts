import { Replica } from '../../durable-objects/replica.ts';
import { PING, PONG } from '../../src/protocol/watch.ts';
import { Death, Disk, DiskError, type DiskMood } from './disk.ts';
import type { Network, Place, Reply, Server } from './network.ts';
import type { Observer } from './observer.ts';
import { breakSocket, type SocketEnd } from './sockets.ts';
import { Actor, type World } from './world.ts';

/** An object without timers, calls and writes for so long is put to sleep, if the adversary wants it. */
const SLEEPY_MS = 10_000;
const MAX_ALARM_TRIES = 6;

/** One life of the object's code. */
class Life extends Actor {
  replica: Replica | undefined;
  /** Calls that are being served or waited for. */
  calls = 0;
  /** Callers that wait for an answer. */
  readonly waiting = new Set<Reply>();
  /** Writes until it dies; undefined: it lives on. */
  fuse: number | undefined;
}

export interface Surroundings {
  world: World;
  network: Network;
  observer: Observer;
  /** The `GUNWALE_CONFIG` binding. */
  config: string;
  /** The other objects by name. */
  objects: Map<string, ReplicaObject>;
  /** Whether a sleepy object is put to sleep. */
  sleepy(): boolean;
  /** Milliseconds by which an alarm comes late, one number for each time that it comes. */
  alarms(): number[];
}

/** The platform around one replica: its disk, its lives, its sockets and its alarm. */
export class ReplicaObject implements Server {
  readonly name: string;
  readonly id: number;
  readonly disk: Disk;
  life: Life | undefined;
  /** Neither calls nor messages reach it while it is down. */
  down = false;
  skew = 0;
  readonly #around: Surroundings;
  #sockets: SocketEnd[] = [];
  #alarmTimer: number | undefined;
  #quietSince = 0;
  #slept = false;

  constructor(around: Surroundings, name: string, id: number, mood: DiskMood, path: string | undefined) {
    this.#around = around;
    this.name = name;
    this.id = id;
    this.disk = new Disk(around.world, mood, path);
  }

  actor(): Actor | undefined {
    return this.life;
  }

  gate(run: () => void): void {
    this.disk.gate(this.life, run);
  }

  /** How it stands, for the story. */
  describe(): string {
    const { down, life, disk } = this;
    const state = down ? 'down' : life === undefined ? 'not running' : `${life.timers} timers, ${life.calls} calls`;
    return disk.hasUnsynced ? `${state}, unsynced writes` : state;
  }

  /** Its open sockets. */
  sockets(): readonly SocketEnd[] {
    return this.#sockets.filter(({ closed }) => !closed);
  }

  /** Whether its code believes to lead the group. */
  leads(): boolean {
    return this.#around.observer.driverOf(this)?.isLeader === true;
  }

  /** The code dies at its n-th write from now. */
  light(fuse: number): void {
    if (this.life !== undefined) this.life.fuse = fuse;
  }

  serve(operation: string, body: Uint8Array, reply: Reply): void {
    const life = this.#wake();
    if (!operation.startsWith('raft'))
      this.#around.world.tell(() => `${this.name}: is asked ${operation}${life ? '' : ', in vain'}`);
    if (life === undefined) {
      reply.refuse(new Error('not reached'));
      return;
    }
    life.waiting.add(reply);
    this.#run(life, async () => {
      try {
        const answer = await life.replica!.call(operation, body);
        life.waiting.delete(reply);
        this.disk.gate(life, () => reply.answer(answer));
      } catch (error) {
        this.#around.world.tell(() => `${this.name}: ${operation} breaks: ${String(error)}`);
        life.waiting.delete(reply);
        this.disk.gate(life, () => reply.refuse(error as Error));
      }
    });
  }

  /** Opens a socket for a client; the answer has its end, unless the object refuses. */
  upgrade(client: Place, receive: (response: Response | undefined) => void): void {
    const life = this.#wake();
    if (life === undefined) {
      receive(undefined);
      return;
    }
    this.#run(life, async () => {
      const request = { url: `http://replica/${this.name}/watch`, arrayBuffer: async () => new ArrayBuffer(0) };
      const response = await life.replica!.fetch(request as Request);
      const end = response.webSocket as unknown as SocketEnd | null;
      if (end !== null) this.#connect(client, end, life);
      this.disk.gate(life, () => receive(response));
    });
  }

  /** Loses the code and what is not durable, `how` being told in the story. */
  crash(how: string): void {
    const { world } = this.#around;
    const lost = this.disk.crash();
    if (lost > 0) world.count('fault: unsynced writes lost');
    const { life } = this;
    world.tell(() => `${this.name}: ${how}; ${lost} unsynced writes are lost`);
    if (this.disk.alarm !== undefined) this.#scheduleAlarm(this.disk.alarm);
    if (life === undefined) return;
    this.#end(life);
    for (const socket of this.#sockets.splice(0)) {
      socket.closed = true;
      breakSocket(socket.other);
    }
    for (const reply of life.waiting) reply.refuse(new Error('the object broke'));
  }

  /** Puts the code to sleep if it has been quiet for long enough; sockets stay open. */
  maybeSleep(): void {
    const { life } = this;
    const { world } = this.#around;
    const busy = life === undefined || life.timers > 0 || life.calls > 0 || this.disk.hasUnsynced;
    if (busy) this.#quietSince = world.now;
    else if (world.now - this.#quietSince >= SLEEPY_MS && this.#around.sleepy()) {
      world.count('fault: evicted while quiet');
      world.tell(() => `${this.name}: falls asleep with ${this.#sockets.length} sockets`);
      this.#end(life);
      this.#slept = true;
    }
  }

  #end(life: Life): void {
    life.alive = false;
    this.life = undefined;
    this.#around.observer.ended(this);
  }

  /** The code, brought to life if need be; undefined while the object is down. */
  #wake(): Life | undefined {
    const { world } = this.#around;
    if (this.down) return undefined;
    if (this.life !== undefined) return this.life;
    const life = new Life(this.name);
    life.skew = this.skew;
    this.life = life;
    if (this.#slept) world.count('fault: woken');
    this.#slept = false;
    const before = world.current;
    world.current = life;
    try {
      this.#around.observer.starting(this);
      life.replica = new Replica(this.#context(life) as never, this.#environment(life) as never);
    } catch (error) {
      world.tell(() => `${this.name}: does not start: ${String(error)}`);
      if (this.life === life) this.#end(life);
      if (!(error instanceof DiskError || error instanceof Death)) throw error;
      return undefined;
    } finally {
      world.current = before;
    }
    return life;
  }

  /** Runs the object's code as an event of its own. */
  #run(life: Life, work: () => Promise<void> | void): void {
    life.calls++;
    this.#quietSince = this.#around.world.now;
    this.#around.world.after(0, life, () => {
      const working = async () => work();
      working()
        .catch((error: unknown) => this.#broke(life, error))
        .finally(() => {
          life.calls--;
        });
    });
  }

  #broke(life: Life, error: unknown): void {
    if (!life.alive || error instanceof Death || error instanceof DiskError) return;
    this.#around.world.fail(error);
  }

  /** Ahead of each write: a crash may come here. */
  #beforeWrite(life: Life): void {
    if (!life.alive) throw new Death();
    if (life.fuse === undefined || --life.fuse >= 0) return;
    this.#around.world.count('fault: crash within a write');
    this.crash('dies within a write');
    throw new Death();
  }

  #context(life: Life) {
    const { world } = this.#around;
    const alive = () => {
      if (!life.alive) throw new Death();
    };
    const sql = {
      exec: (query: string, ...bindings: Parameters<Disk['exec']>[1]) => {
        alive();
        return this.disk.exec(query, bindings, () => this.#beforeWrite(life));
      },
    };
    const storage = {
      sql,
      transactionSync: <T>(write: () => T) => {
        alive();
        return this.disk.transaction(write);
      },
      setAlarm: async (at: number) => {
        alive();
        this.disk.setAlarm(at);
        this.#scheduleAlarm(at);
      },
      deleteAlarm: async () => {
        alive();
        this.disk.setAlarm(undefined);
      },
      getAlarm: async () => this.disk.alarm ?? null,
      sync: () => new Promise<void>((resolve) => this.disk.gate(life, () => world.after(0, life, resolve))),
    };
    return {
      id: { name: this.name },
      storage,
      getWebSockets: () => this.#sockets.filter(({ closed }) => !closed),
      acceptWebSocket: (end: SocketEnd) => {
        this.#sockets.push(end);
      },
      setWebSocketAutoResponse: () => undefined,
      waitUntil: () => undefined,
      abort: (reason: string) => {
        world.tell(() => `${this.name}: gives up: ${reason}`);
        world.count('fault: replica gave up');
        if (life.alive) this.crash('starts anew');
      },
    };
  }

  #environment(life: Life) {
    const { network, objects, world } = this.#around;
    const from: Place = { name: this.name, actor: () => life, gate: (run) => this.disk.gate(life, run) };
    const stub = (name: string) => ({
      call: async (operation: string, body: Uint8Array) => {
        if (!life.alive) throw new Death();
        life.calls++;
        try {
          return await network.call(from, objects.get(name)!, operation, body);
        } finally {
          life.calls--;
        }
      },
    });
    const loops = {
      fetch: async () => {
        world.count('pokes of the control loops');
        return new Response('');
      },
    };
    return { GUNWALE_CONFIG: this.#around.config, REPLICA: { getByName: stub }, LOOPS: { getByName: () => loops } };
  }

  #connect(client: Place, end: SocketEnd, life: Life): void {
    const { world, network } = this.#around;
    end.wire = {
      world,
      actor: () => client.actor(),
      gate: (run) => run(),
      transit: () => network.transit(client, this),
      receive: (data) => end.dispatch('message', { data }),
      closed: (code, reason) => end.dispatch('close', { code, reason }),
    };
    const server = end.other;
    server.wire = {
      world,
      actor: () => undefined,
      gate: (run) => this.disk.gate(this.life ?? life, run),
      transit: () => network.transit(this, client),
      receive: (data) => this.#receive(server, data),
      closed: () => this.#withReplica((replica) => replica.webSocketClose(server as never)),
    };
  }

  #receive(server: SocketEnd, data: ArrayBuffer | string): void {
    if (server.closed) return;
    if (data === PING) server.send(PONG);
    else this.#withReplica((replica) => replica.webSocketMessage(server as never, data));
  }

  #withReplica(work: (replica: Replica) => Promise<void> | void): void {
    const life = this.#wake();
    if (life !== undefined) this.#run(life, () => work(life.replica!));
  }

  /** An alarm comes at least once; one that fails comes again a few times. */
  #scheduleAlarm(at: number): void {
    const { world, alarms } = this.#around;
    this.#alarmTimer = at;
    const delays = alarms();
    if (delays.length > 1) world.count('fault: alarm duplicated');
    for (const late of delays) {
      const wait = Math.max(0, at - (world.clock() - (world.current?.skew ?? 0) + this.skew));
      world.after(wait + late, undefined, () => this.#alarm(at, 0));
    }
  }

  #alarm(at: number, tries: number): void {
    const { world } = this.#around;
    if (this.#alarmTimer !== at || tries > MAX_ALARM_TRIES) return;
    const life = this.#wake();
    if (life === undefined) {
      world.after(2_000 * 2 ** tries, undefined, () => this.#alarm(at, tries + 1));
      return;
    }
    world.count('alarms');
    this.disk.alarm = undefined;
    world.tell(() => `${this.name}: alarm`);
    this.#run(life, () => life.replica!.alarm());
  }
}
