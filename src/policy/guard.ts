import { type AuthorizerChain, usualChain } from '../authz/chain.ts';
import type { AuthorizationData } from '../authz/index.ts';
import type { Batch, Keyspace, ProposeResult, Revision } from '../keyspace/types.ts';
import { builtins, type Resource } from '../registry/resource.ts';
import type { TenantUid } from '../request/context.ts';
import { StatusError, tooManyRequests } from '../status/status.ts';
import { notePolicyRevision, type PolicyBundle, policyAsOf, policyFor } from './bundle.ts';

/** How often a write is decided anew because the policy moved under it: writers of policy do that to each other. */
const ATTEMPTS = 60;

/** What a request did by a part of the policy has to be done anew: that part changed meanwhile. */
export class PolicyChangedError extends Error {
  /** The part's name, see {@link RequestPolicy.follow}. */
  readonly part: string;
  constructor(part: string) {
    super(`the policy changed: ${part}`);
    this.part = part;
  }
}

/**
 * Does something by the policy, and anew where a part that it went by changed meanwhile. Once it is done, the parts that
 * it followed bind the request no longer. A part that was followed before is for the caller, who has to do more anew.
 * Throws 429 where that does not end. `warnings` loses what was added in vain.
 */
export async function byPolicy<T>(
  { warnings, policy }: { warnings: string[]; policy?: RequestPolicy },
  act: () => Promise<T>,
): Promise<T> {
  const { length } = warnings;
  const before = new Set(policy?.followed);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof PolicyChangedError) || before.has(error.part)) throw error;
      warnings.length = length;
    } finally {
      policy?.followOnly(before);
    }
  }
  throw policyKeepsChanging();
}

const policyKeepsChanging = () => tooManyRequests('the policy keeps changing, please try again', 1);

/**
 * One request's hold on the policy: decisions are made under the isolate's cached bundle, and made again before
 * anything leaves that was read or written under a newer policy revision.
 *
 * The pipeline opens one per request, makes every decision through {@link decide}, hands {@link keyspace} (not the bare
 * one) to the store, and calls {@link confirm} before an answer that no keyspace call preceded. A request without
 * decisions that rest on the policy (system:masters on built-in resources) costs nothing.
 */
export class RequestPolicy {
  readonly tenant: TenantUid;
  /** The keyspace for the rest of the request: answers under a newer policy re-run the decisions. */
  readonly keyspace: Keyspace;
  /** The keyspace itself, for reads that decisions are made from. */
  readonly bare: Keyspace;
  readonly #chain: AuthorizerChain;
  #bundle: PolicyBundle;
  readonly #checks = new Map<unknown, (bundle: PolicyBundle) => unknown>();
  readonly #followed = new Set<string>();

  private constructor(tenant: TenantUid, keyspace: Keyspace, chain: AuthorizerChain, bundle: PolicyBundle) {
    this.#chain = chain;
    this.tenant = tenant;
    this.bare = keyspace;
    this.#bundle = bundle;
    this.keyspace = {
      get: (keys, consistency) => this.#checked(keyspace.get(keys, consistency)),
      list: (request) => this.#checked(keyspace.list(request)),
      propose: (batch, policyRevision) => this.#propose(batch, policyRevision),
      watch: async (request, signal) => {
        await this.confirm();
        return keyspace.watch(request, signal);
      },
      policyRevision: () => keyspace.policyRevision(),
      work: (limit) => keyspace.work(limit),
    };
  }

  /** Takes the cached bundle; loads it on the tenant's first request in this isolate. */
  static async open(tenant: TenantUid, keyspace: Keyspace, chain = usualChain): Promise<RequestPolicy> {
    return new RequestPolicy(tenant, keyspace, chain, await policyFor(tenant, keyspace));
  }

  /** What the authorizers decide from, under `bundle`. */
  data(bundle = this.#bundle): AuthorizationData {
    return { bundle, keyspace: this.bare, chain: this.#chain };
  }

  /** The bundle in force for this request; replaced when the policy moves. */
  get bundle(): PolicyBundle {
    return this.#bundle;
  }

  /**
   * Makes a decision that rests on the policy. `check` throws a StatusError to refuse. A refusal is only believed once
   * the policy is confirmed to be current; a consent is remembered and checked again when the policy moves, in place of
   * an earlier one of the same `name`.
   */
  async decide<T>(check: (bundle: PolicyBundle) => T | Promise<T>, name: unknown = check): Promise<T> {
    try {
      const result = await check(this.#bundle);
      this.#checks.set(name, check);
      return result;
    } catch (error) {
      if (!(error instanceof StatusError) || !(await this.#refresh())) throw error;
      const result = await check(this.#bundle);
      this.#checks.set(name, check);
      return result;
    }
  }

  /**
   * A part of the policy, to act by. When a newer policy has another one by the time that something leaves,
   * {@link PolicyChangedError} is thrown, and what was done by it must be done anew. `name`: what it is; asked for again
   * under that name, the newer answer counts. `same` tells whether two answers ask for the same.
   */
  follow<T>(name: string, select: (bundle: PolicyBundle) => T, same: (a: T, b: T) => boolean): Promise<T> {
    let taken: { value: T } | undefined;
    this.#followed.add(name);
    return this.decide((bundle) => {
      const value = select(bundle);
      if (taken !== undefined && !same(taken.value, value)) throw new PolicyChangedError(name);
      taken = { value };
      return value;
    }, name);
  }

  /** Names of the parts that the request goes by at the moment. */
  get followed(): ReadonlySet<string> {
    return this.#followed;
  }

  /** Lets go of every part but these. */
  followOnly(names: ReadonlySet<string>): void {
    for (const name of this.#followed) {
      if (names.has(name)) continue;
      this.#followed.delete(name);
      this.#checks.delete(name);
    }
  }

  /**
   * The row of a resource: built-in, or of a CustomResourceDefinition as confirmed to be in force (a quorum round, for
   * custom and unknown resources only).
   */
  async resource(groupVersion: string, resource: string): Promise<Resource | undefined> {
    const builtin = builtins.get(groupVersion)?.get(resource);
    if (builtin !== undefined) return builtin;
    await this.confirm();
    return this.#bundle.resources.get(groupVersion)?.get(resource);
  }

  /** Makes sure that the bundle is current, and re-runs the decisions where it was not. */
  async confirm(): Promise<void> {
    if (await this.#refresh()) await this.#recheck();
  }

  /** Whether a newer policy was in force, and is now loaded. */
  async #refresh(): Promise<boolean> {
    return this.#advance(await this.bare.policyRevision());
  }

  async #advance(revision: Revision): Promise<boolean> {
    notePolicyRevision(this.tenant, revision);
    if (revision <= this.#bundle.revision) return false;
    this.#bundle = await policyAsOf(this.tenant, this.bare, revision);
    return true;
  }

  async #recheck(): Promise<void> {
    for (const check of [...this.#checks.values()]) await check(this.#bundle);
  }

  async #checked<T extends { policyRevision: Revision }>(answer: Promise<T>): Promise<T> {
    const result = await answer;
    notePolicyRevision(this.tenant, result.policyRevision);
    if (this.#checks.size > 0 && (await this.#advance(result.policyRevision))) await this.#recheck();
    return result;
  }

  async #propose(batch: Batch, policyRevision?: Revision): Promise<ProposeResult> {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const under = policyRevision ?? (this.#checks.size > 0 ? this.#bundle.revision : undefined);
      const result = await this.bare.propose(batch, under);
      notePolicyRevision(this.tenant, result.policyRevision);
      if (result.ok || !('policyMoved' in result) || policyRevision !== undefined) return result;
      await this.#advance(result.policyRevision);
      await this.#recheck();
    }
    throw policyKeepsChanging();
  }
}
