import type { RequestInfo, UserInfo } from '../request/context.ts';
import { AuditRecord } from './event.ts';
import { type AuditLevel, type AuditPolicy, auditConfig } from './policy.ts';
import type { AuditSink } from './sink.ts';

/** Told of every request, with the level that the policy gives it, and of every event that was made. */
export interface AuditCounts {
  auditLevel(level: AuditLevel): void;
  auditEvents(count: number): void;
}

export type { AuditRecord } from './event.ts';

/** What is known of a request when it comes. */
export interface Arrived {
  auditId: string;
  request: Request;
  url: URL;
  info: RequestInfo;
  user: UserInfo;
}

/** Whom the record of an unauthenticated request names. */
const NOBODY: UserInfo = { name: '', groups: [], extra: {} };

/** Auditing of one isolate: which requests are recorded, and where the records go. */
export class Auditor {
  readonly #policy: AuditPolicy;
  readonly #sinks: readonly Pick<AuditSink, 'write'>[];
  readonly #counts: AuditCounts;

  constructor(policy: AuditPolicy, sinks: readonly Pick<AuditSink, 'write'>[], counts: AuditCounts) {
    this.#policy = policy;
    this.#sinks = sinks;
    this.#counts = counts;
  }

  /** Begins the record of a request; undefined where the policy leaves it out. */
  begin({ url, ...arrived }: Arrived, now: Date): AuditRecord | undefined {
    const record = this.#record({ url, ...arrived }, arrived.user, now);
    record?.stage('RequestReceived', now);
    return record;
  }

  /** Records a request that was refused for its credentials. */
  refused(arrived: Omit<Arrived, 'user'>, now: Date): void {
    const record = this.#record(arrived, NOBODY, now);
    record?.refused();
    record?.stage('ResponseStarted', now);
  }

  #record(arrived: Omit<Arrived, 'user'>, user: UserInfo, received: Date): AuditRecord | undefined {
    const { auditId, request, url, info } = arrived;
    const config = auditConfig(this.#policy, user === NOBODY ? undefined : user, info);
    this.#counts.auditLevel(config.level);
    if (config.level === 'None') return undefined;
    const uri = `${url.pathname}${url.search}`;
    const facts = { auditId, request, uri, info, user, received, sourceIPs: sourceIPs(request.headers) };
    return new AuditRecord(facts, config, (event) => {
      this.#counts.auditEvents(1);
      for (const sink of this.#sinks) sink.write(event);
    });
  }
}

/** Addresses that a request says it came by, the client's first. */
function sourceIPs(headers: Headers): string[] {
  const forwarded = (headers.get('x-forwarded-for') ?? '').split(',').map((address) => address.trim());
  const all = [...forwarded, headers.get('x-real-ip') ?? '', headers.get('cf-connecting-ip') ?? ''];
  return [...new Set(all.filter((address) => address !== ''))];
}
