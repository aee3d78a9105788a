import { isObject, type JsonObject, type JsonValue } from '../api/object.ts';
import type { Verdict } from '../authz/attributes.ts';
import { decodeBody } from '../codec/body.ts';
import type { RequestInfo, UserInfo } from '../request/context.ts';
import { StatusError } from '../status/status.ts';
import { type AuditConfig, type AuditStage, LEVELS } from './policy.ts';

/** audit.k8s.io/v1 Event, in its JSON form. */
export type AuditEvent = JsonObject;

/** What is known of a request before it is decided. */
export interface Received {
  auditId: string;
  request: Request;
  uri: string;
  info: RequestInfo;
  user: UserInfo;
  received: Date;
  sourceIPs: string[];
}

const MAX_USER_AGENT = 1024;
/** Times with microseconds, as the API writes them. */
const microTime = (date: Date) => date.toISOString().replace('Z', '000Z');

const userOf = ({ name, uid, groups, extra }: UserInfo): JsonObject => ({
  ...(name === '' ? {} : { username: name }),
  ...(uid === undefined || uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(Object.keys(extra).length === 0 ? {} : { extra }),
});

/** The record of one request, growing as it is served; each stage is written as it is then. */
export class AuditRecord {
  readonly config: AuditConfig;
  readonly #write: (event: AuditEvent) => void;
  readonly #event: JsonObject;
  readonly #signal: AbortSignal;
  readonly #annotations: Record<string, string> = {};
  #answer: { body: Uint8Array; contentType: string } | undefined;

  constructor(received: Received, config: AuditConfig, write: (event: AuditEvent) => void) {
    this.config = config;
    this.#write = write;
    this.#signal = received.request.signal;
    const { auditId, request, uri, info, user, sourceIPs } = received;
    const agent = request.headers.get('user-agent') ?? '';
    const userAgent = agent.length > MAX_USER_AGENT ? `${agent.slice(0, MAX_USER_AGENT)}...TRUNCATED` : agent;
    this.#event = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: config.level,
      auditID: auditId,
      stage: '',
      requestURI: uri,
      verb: info.verb,
      user: userOf(user),
      ...(sourceIPs.length === 0 ? {} : { sourceIPs }),
      ...(userAgent === '' ? {} : { userAgent }),
      ...(info.isResourceRequest ? { objectRef: referenceOf(info) } : {}),
      requestReceivedTimestamp: microTime(received.received),
    };
  }

  /** Whether bodies of that level are recorded. */
  covers(level: 'Request' | 'RequestResponse'): boolean {
    return LEVELS.indexOf(this.config.level) >= LEVELS.indexOf(level);
  }

  /** Adds an annotation; the first value of a key stays. */
  annotate(key: string, value: string): void {
    this.#annotations[key] ??= value;
  }

  /** Notes how the request was authorized; the last decision counts, for it may be made again under a newer policy. */
  authorized({ decision, reason }: Verdict): void {
    this.#annotations['authorization.k8s.io/decision'] = decision === 'allow' ? 'allow' : 'forbid';
    this.#annotations['authorization.k8s.io/reason'] = reason;
  }

  /** Who the request acts as. `constraint`: the constrained form of impersonation that was allowed, or empty. */
  impersonated(user: UserInfo, constraint: string): void {
    this.#event.impersonatedUser = userOf(user);
    if (constraint !== '') this.#event.authenticationMetadata = { impersonationConstraint: constraint };
  }

  /** Records the object that a request brought, where the level covers it. */
  requestObject(object: JsonValue): void {
    const reference = this.#event.objectRef;
    if (isObject(object) && isObject(object.metadata) && isObject(reference)) {
      const { name, namespace, uid, resourceVersion } = object.metadata;
      for (const [key, value] of Object.entries({ namespace, name, uid, resourceVersion })) {
        if (value !== undefined && value !== '') reference[key] ??= value;
      }
    }
    if (this.covers('Request')) this.#event.requestObject = this.#trimmed(object);
  }

  /** Records the body of a patch; what cannot be read is left out, since the request is about to be refused for it. */
  requestBytes(bytes: Uint8Array, contentType: string): void {
    if (this.covers('Request')) this.requestObject(objectIn(bytes, contentType));
  }

  /** Keeps the body of the answer for the record, where the level covers it. */
  answered(body: Uint8Array, contentType: string): void {
    if (this.covers('RequestResponse')) this.#answer = { body, contentType };
  }

  /** Records the code of the answer, the Status of a refusal, and the object where the level covers it. */
  #respond(code: number, refusal: JsonObject | undefined): void {
    const object = refusal ?? this.#answeredObject();
    const status = isObject(object) && object.kind === 'Status' ? object : undefined;
    const { metadata = {}, status: state, message, reason, details } = status ?? {};
    const told = Object.entries({ status: state, message, reason, details }).filter(([, value]) => value !== undefined);
    this.#event.responseStatus = { metadata, ...Object.fromEntries(told), code };
    if (object !== undefined && this.covers('RequestResponse')) this.#event.responseObject = this.#trimmed(object);
  }

  /**
   * Records the answer and passes it on. `lasting`: it is recorded when it begins, and again when it ends or its client
   * goes.
   */
  answer(response: Response, error: unknown, lasting: boolean, now: () => Date): Response {
    this.#respond(response.status, error instanceof StatusError ? { ...error.status } : undefined);
    if (!lasting || response.body === null) {
      this.stage('ResponseComplete', now());
      return response;
    }
    this.stage('ResponseStarted', now());
    let over = false;
    const complete = () => {
      if (!over) this.stage('ResponseComplete', now());
      over = true;
    };
    const body = response.body.pipeThrough(new TransformStream({ flush: complete }));
    this.#signal.addEventListener('abort', complete, { once: true });
    return new Response(body, response);
  }

  /** The request was refused for its credentials. */
  refused(): void {
    const [message, reason] = ['Unauthorized', 'Unauthorized'];
    this.#event.responseStatus = { metadata: {}, status: 'Failure', message, reason, code: 401 };
  }

  /** Writes the record as it is at a stage. */
  stage(stage: AuditStage, now: Date): void {
    if (this.config.level === 'None' || this.config.omitStages.has(stage)) return;
    const annotations = Object.keys(this.#annotations).length === 0 ? {} : { annotations: { ...this.#annotations } };
    this.#write({ ...this.#event, stage, stageTimestamp: microTime(now), ...annotations });
  }

  #answeredObject(): JsonValue | undefined {
    if (this.#answer === undefined) return undefined;
    return objectIn(this.#answer.body, this.#answer.contentType);
  }

  #trimmed(object: JsonValue): JsonValue {
    if (!this.config.omitManagedFields || !isObject(object)) return object;
    const items = Array.isArray(object.items) ? { items: object.items.map((item) => this.#trimmed(item)) } : {};
    if (!isObject(object.metadata)) return { ...object, ...items };
    const { managedFields: _, ...metadata } = object.metadata;
    return { ...object, metadata, ...items };
  }
}

function objectIn(bytes: Uint8Array, contentType: string): JsonValue {
  try {
    const body = decodeBody(bytes, contentType.split(';', 1)[0]!);
    return body.format === 'protobuf' ? (body.decoded.object as JsonObject) : body.parsed.value;
  } catch {
    return null;
  }
}

function referenceOf({ resource, namespace, name, group, version, subresource }: RequestInfo): JsonObject {
  const parts = { resource, namespace, name, apiGroup: group, apiVersion: version, subresource };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== ''));
}
