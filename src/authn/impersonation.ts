import { type Attributes, attributesOf, forbiddenError } from '../authz/attributes.ts';
import { authorize, isSuperuser } from '../authz/index.ts';
import { grantsFor } from '../authz/rbac.ts';
import type { PolicyBundle } from '../policy/bundle.ts';
import type { RequestPolicy } from '../policy/guard.ts';
import type { RequestInfo, UserInfo } from '../request/context.ts';
import { badRequest, StatusError } from '../status/status.ts';
import { ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED } from './anonymous.ts';

const GROUP = 'authentication.k8s.io';
const EXTRA_PREFIX = 'impersonate-extra-';
/** From this many values on, one check for all of them is tried first. */
const MANY = 4;

/** The headers of one request, before defaults. */
interface Wanted {
  name: string;
  uid: string;
  groups: string[];
  extra: Record<string, string[]>;
}

/** The values of a repeated header, which the runtime joins with a comma and a space. */
const values = (header: string): string[] => header.split(', ');

function extraKey(header: string): string {
  const encoded = header.slice(EXTRA_PREFIX.length).toLowerCase();
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

const quote = (s: string) => JSON.stringify(s);
const goList = (list: string[]) => (list.length === 0 ? '[]string(nil)' : `[]string{${list.map(quote).join(', ')}}`);

/** The wanted user in the notation that clients see in the refusal. */
function describe({ name, uid, groups, extra }: Wanted): string {
  const entries = Object.keys(extra)
    .sort()
    .map((k) => `${quote(k)}:${goList(extra[k]!)}`);
  const map = entries.length === 0 ? 'map[string][]string(nil)' : `map[string][]string{${entries.join(', ')}}`;
  return `&user.DefaultInfo{Name:${quote(name)}, UID:${quote(uid)}, Groups:${goList(groups)}, Extra:${map}}`;
}

/** Reads the Impersonate-* headers; undefined without any. Throws 400 for some without a user. */
function wantedUser(headers: Headers): Wanted | undefined {
  const group = headers.get('impersonate-group');
  const wanted: Wanted = {
    name: headers.get('impersonate-user') ?? '',
    uid: headers.get('impersonate-uid') ?? '',
    groups: group === null ? [] : values(group),
    extra: {},
  };
  for (const [name, value] of headers) {
    if (!name.startsWith(EXTRA_PREFIX)) continue;
    const key = extraKey(name);
    const known = Object.hasOwn(wanted.extra, key) ? wanted.extra[key]! : [];
    Object.defineProperty(wanted.extra, key, {
      value: [...known, ...values(value)],
      enumerable: true,
      configurable: true,
    });
  }
  if (wanted.name !== '') return wanted;
  if (wanted.uid === '' && wanted.groups.length === 0 && Object.keys(wanted.extra).length === 0) return undefined;
  throw badRequest(`requested ${describe(wanted)} without impersonating a user name`);
}

/** The namespace and name in a service account's user name. */
function serviceAccountOf(name: string): [string, string] | undefined {
  const parts = name.startsWith('system:serviceaccount:') ? name.split(':').slice(2) : [];
  return parts.length === 2 && parts.every((p) => /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(p))
    ? [parts[0]!, parts[1]!]
    : undefined;
}

/** The node in a node's user name. */
function nodeOf(name: string): string | undefined {
  const node = name.startsWith('system:node:') ? name.slice('system:node:'.length) : '';
  return /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(node) && node.length <= 253 ? node : undefined;
}

/** One way to be allowed to impersonate: which wanted users it is for, and by which verb. */
interface Mode {
  verb: string;
  /** Constrained modes (KEP-5284) also need `impersonate-on:MODE:VERB` for the request itself. */
  on?: string;
  applies: (wanted: Wanted, requestor: UserInfo) => boolean;
  /** The user that authorization sees as the requestor. */
  asked?: (requestor: UserInfo) => UserInfo;
}

const onlyName = ({ uid, groups, extra }: Wanted) =>
  uid === '' && groups.length === 0 && Object.keys(extra).length === 0;
const constrained = (mode: string, applies: Mode['applies']): Mode => ({
  verb: `impersonate:${mode}`,
  on: `impersonate-on:${mode}`,
  applies,
});
const NODE_NAME = 'authentication.kubernetes.io/node-name';

const legacy: Mode = { verb: 'impersonate', applies: () => true };
const constrainedModes: readonly Mode[] = [
  {
    ...constrained('associated-node', (wanted, requestor) => {
      const node = nodeOf(wanted.name);
      const own = requestor.extra[NODE_NAME];
      const associated = serviceAccountOf(requestor.name) !== undefined && own?.length === 1 && own[0] === node;
      return onlyName(wanted) && node !== undefined && associated;
    }),
    asked: (requestor) => ({
      ...requestor,
      extra: { 'authentication.kubernetes.io/associated-node-keys': Object.keys(requestor.extra).sort() },
    }),
  },
  constrained('arbitrary-node', (wanted) => onlyName(wanted) && nodeOf(wanted.name) !== undefined),
  constrained('serviceaccount', (wanted) => onlyName(wanted) && serviceAccountOf(wanted.name) !== undefined),
  constrained('user-info', (w) => nodeOf(w.name) === undefined && serviceAccountOf(w.name) === undefined),
];

/** One impersonation under one mode: throws the 403 of the first thing that is not allowed. */
class Attempt {
  readonly #mode: Mode;
  readonly #wanted: Wanted;
  readonly #requestor: UserInfo;
  readonly #policy: RequestPolicy;
  readonly #bundle: PolicyBundle;

  constructor(mode: Mode, wanted: Wanted, requestor: UserInfo, policy: RequestPolicy, bundle: PolicyBundle) {
    this.#mode = mode;
    this.#wanted = wanted;
    this.#requestor = mode.asked?.(requestor) ?? requestor;
    this.#policy = policy;
    this.#bundle = bundle;
  }

  async run(request: Attributes): Promise<UserInfo> {
    if (this.#mode.on !== undefined) {
      await this.#require({ ...request, user: this.#requestor, verb: `${this.#mode.on}:${request.verb}` });
    }
    const groups = await this.#name();
    const { name, uid, extra } = this.#wanted;
    if (uid !== '') await this.#require(this.#attributes({ group: GROUP, resource: 'uids', name: uid }));
    await this.#groups();
    await this.#extra();
    const implied = name === ANONYMOUS ? UNAUTHENTICATED : groups.includes(UNAUTHENTICATED) ? undefined : AUTHENTICATED;
    const all = implied === undefined || groups.includes(implied) ? groups : [...groups, implied];
    return { name, ...(uid === '' ? {} : { uid }), groups: all, extra };
  }

  #attributes(of: {
    group: string;
    resource: string;
    name: string;
    subresource?: string;
    namespace?: string;
  }): Attributes {
    const version = 'v1';
    const { verb } = this.#mode;
    return {
      user: this.#requestor,
      verb,
      isResourceRequest: true,
      path: '',
      version,
      subresource: '',
      namespace: '',
      ...of,
    };
  }

  async #allowed(attributes: Attributes) {
    return authorize(attributes, this.#policy.data(this.#bundle));
  }

  async #require(attributes: Attributes): Promise<void> {
    const verdict = await this.#allowed(attributes);
    if (verdict.decision !== 'allow') throw forbiddenError(attributes, verdict.reason);
  }

  get #isConstrained(): boolean {
    return this.#mode.on !== undefined;
  }

  /** Users and groups belong to the core group in the old mode, to authentication.k8s.io in the constrained ones. */
  get #group(): string {
    return this.#isConstrained ? GROUP : '';
  }

  /** Checks the name, and gives the groups: those asked for, or those that a name of its kind has. */
  async #name(): Promise<string[]> {
    const { name, groups } = this.#wanted;
    const account = serviceAccountOf(name);
    if (account !== undefined) {
      const [namespace, accountName] = account;
      await this.#require(
        this.#attributes({ group: this.#group, resource: 'serviceaccounts', name: accountName, namespace }),
      );
      return groups.length > 0 ? groups : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
    }
    const node = this.#isConstrained ? nodeOf(name) : undefined;
    if (node !== undefined) {
      const asked = this.#mode.asked === undefined ? node : '*';
      await this.#require(this.#attributes({ group: this.#group, resource: 'nodes', name: asked }));
      return ['system:nodes'];
    }
    await this.#require(this.#attributes({ group: this.#group, resource: 'users', name }));
    return groups;
  }

  async #groups(): Promise<void> {
    const { groups } = this.#wanted;
    const of = (name: string) => this.#attributes({ group: this.#group, resource: 'groups', name });
    if (this.#isConstrained) {
      if (groups.includes('')) throw forbiddenError(of(''), 'impersonating the empty string group is not allowed');
      if (groups.includes('system:masters')) {
        throw forbiddenError(of('system:masters'), 'impersonating the system:masters group is not allowed');
      }
      if (groups.length >= MANY && (await this.#allowed(of('*'))).decision === 'allow') return;
    }
    for (const group of groups) await this.#require(of(group));
  }

  async #extra(): Promise<void> {
    const { extra } = this.#wanted;
    const pairs = Object.entries(extra).flatMap(([key, all]) => all.map((value) => [key, value] as const));
    const of = (subresource: string, name: string) =>
      this.#attributes({ group: GROUP, resource: 'userextras', subresource, name });
    if (this.#isConstrained) {
      const fault = extraFault(pairs);
      if (fault !== undefined) throw forbiddenError(of('', ''), fault);
      if (pairs.length >= MANY && (await this.#allowed(of('*', '*'))).decision === 'allow') return;
    }
    for (const [key, value] of pairs) await this.#require(of(key, value));
  }
}

function extraFault(pairs: readonly (readonly [string, string])[]): string | undefined {
  for (const [key, value] of pairs) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed';
    if (value === '') return 'impersonating the empty string value in extra is not allowed';
  }
  return undefined;
}

/** Whether the requestor holds some right to the old verb. */
function holdsOldVerb(bundle: PolicyBundle, requestor: UserInfo, wanted: Wanted): boolean {
  if (isSuperuser(requestor)) return true;
  const namespace = serviceAccountOf(wanted.name)?.[0] ?? '';
  for (const { rules } of grantsFor(bundle.rbac, requestor, namespace)) {
    if (rules?.some((r) => r.verbs.includes(legacy.verb) || r.verbs.includes('*'))) return true;
  }
  return false;
}

/**
 * The impersonation stage: the user to go on with. The modes of constrained impersonation are tried first, then the
 * verb `impersonate`; for requestors that hold some right to that verb it is the other way around, as kube-apiserver
 * does once the verb has allowed something. When no mode allows it, the refusal is the first one's. Throws 400 for
 * headers without a user.
 */
export async function impersonate(
  headers: Headers,
  requestor: UserInfo,
  info: RequestInfo,
  policy: RequestPolicy,
): Promise<UserInfo> {
  const wanted = wantedUser(headers);
  if (wanted === undefined) return requestor;
  const request = attributesOf(requestor, info);
  return policy.decide(async (bundle) => {
    const order = holdsOldVerb(bundle, requestor, wanted)
      ? [legacy, ...constrainedModes]
      : [...constrainedModes, legacy];
    let refusal: StatusError | undefined;
    for (const mode of order.filter((m) => m.applies(wanted, requestor))) {
      try {
        return await new Attempt(mode, wanted, requestor, policy, bundle).run(request);
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        refusal ??= error;
      }
    }
    throw refusal;
  });
}

/** The constrained form of impersonation that acting as a user takes (KEP-5284), for those who may use all forms. */
export function constraintOf({ name }: UserInfo): string {
  if (name.startsWith('system:serviceaccount:')) return 'impersonate:serviceaccount';
  return name.startsWith('system:node:') ? 'impersonate:arbitrary-node' : 'impersonate:user-info';
}
