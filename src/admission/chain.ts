import type { KubeObject } from '../api/object.ts';
import type { Batch } from '../keyspace/types.ts';
import { PolicyChangedError } from '../policy/guard.ts';
import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/context.ts';
import type { DeleteOptions } from '../request/options.ts';

/** What a plugin decides about (upstream's admission attributes). */
export interface Attributes {
  ctx: RequestContext;
  resource: Resource;
  /** Empty for the object itself. */
  subresource: string;
  operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';
  namespace: string;
  /** Empty while a name is still to be generated, and for the deletion of a collection. */
  name: string;
  /** The object as it is to be; undefined for a deletion. Mutating plugins change it in place. */
  object: KubeObject | undefined;
  /** The object as it is; undefined for a create. */
  old: KubeObject | undefined;
  dryRun: boolean;
  /** What a delete was asked with. */
  deleteOptions?: DeleteOptions;
  /** Whether and how mutating plugins are to run once more. */
  reinvocation?: Reinvocation;
}

/**
 * What mutating plugins leave for a second round, which follows where one of them wants it (k8s.io/apiserver,
 * pkg/admission/reinvocation.go).
 */
export class Reinvocation {
  #wanted = false;
  #isSecond = false;
  readonly #states = new Map<string, unknown>();

  /** Asks for a second round. */
  want(): void {
    this.#wanted = true;
  }

  get isSecond(): boolean {
    return this.#isSecond;
  }

  /** Whether a second round begins now. */
  begins(): boolean {
    this.#isSecond = this.#wanted && !this.#isSecond;
    return this.#isSecond;
  }

  /** What the plugin of that name keeps from round to round. */
  stateOf<T>(name: string, make: () => T): T {
    const state = (this.#states.get(name) as T | undefined) ?? make();
    this.#states.set(name, state);
    return state;
  }
}

/** What commits with a write that costs something, and on which conditions. */
export type Charge = Batch;

/** A built-in admission plugin. It refuses by throwing a StatusError. */
export interface Plugin {
  /** Upstream's name, which also gives its place in the order. */
  name: string;
  /** `group/resource` or `group/resource/subresource` that it looks at; left out: all, subresources included. */
  resources?: readonly string[];
  operations: readonly Attributes['operation'][];
  admit?: (attributes: Attributes) => Promise<void> | void;
  validate?: (attributes: Attributes) => Promise<void> | void;
  /**
   * What a write costs, asked last, and again where it could not be paid because others were charged meanwhile
   * (`contended`).
   */
  charge?: (attributes: Attributes, contended: boolean) => Promise<Charge | undefined>;
  /** The part of the policy that {@link charge} goes by. */
  followed?: (attributes: Attributes) => string;
}

function handles(plugin: Plugin, { resource, subresource, operation }: Attributes): boolean {
  if (!plugin.operations.includes(operation)) return false;
  if (plugin.resources === undefined) return true;
  const key = `${resource.group}/${resource.resource}`;
  return plugin.resources.includes(subresource === '' ? key : `${key}/${subresource}`);
}

/** Runs the mutating halves in order, and once more where one of them wants that; the first refusal ends it. */
export async function admit(plugins: readonly Plugin[], attributes: Attributes): Promise<void> {
  await admitOnce(plugins, attributes);
  if (attributes.reinvocation?.begins()) await admitOnce(plugins, attributes);
}

async function admitOnce(plugins: readonly Plugin[], attributes: Attributes): Promise<void> {
  for (const plugin of plugins) {
    if (plugin.admit !== undefined && handles(plugin, attributes)) await plugin.admit(attributes);
  }
}

/** Runs the validating halves in order; the first refusal ends it. */
export async function validate(plugins: readonly Plugin[], attributes: Attributes): Promise<void> {
  for (const plugin of plugins) {
    if (plugin.validate !== undefined && handles(plugin, attributes)) await plugin.validate(attributes);
  }
}

/**
 * Asks what a write costs and does it with that; the first refusal ends it. Undefined where the policy that the cost
 * goes by changed meanwhile: ask again.
 */
export async function charge<T>(
  plugins: readonly Plugin[],
  attributes: Attributes,
  contended: boolean,
  act: (charges: Charge[]) => Promise<T>,
): Promise<T | undefined> {
  const asked = plugins.filter((plugin) => plugin.charge !== undefined && handles(plugin, attributes));
  try {
    const charges: Charge[] = [];
    for (const plugin of asked) {
      const cost = await plugin.charge?.(attributes, contended);
      if (cost !== undefined) charges.push(cost);
    }
    return await act(charges);
  } catch (error) {
    const own = error instanceof PolicyChangedError && asked.some((p) => p.followed?.(attributes) === error.part);
    if (!own) throw error;
    return undefined;
  }
}

/** The subject of a refusal. */
export const subjectOf = ({ resource }: Attributes) => ({ group: resource.group, name: resource.resource });
