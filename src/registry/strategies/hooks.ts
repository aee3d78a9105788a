import type { JsonObject, JsonValue, KubeObject } from '../../api/object.ts';
import type { UserInfo } from '../../request/context.ts';

/** What a strategy may look at besides the objects. */
export interface StrategyContext {
  now: Date;
  user: UserInfo;
  /** Texts of Warning headers, which a strategy may add to. */
  warnings: string[];
}

/** What one endpoint does beyond its row of the strategy table. All change `object` in place. */
export interface StrategyHooks {
  /** Runs after the table, before validation. */
  prepareForCreate?: (object: KubeObject, context: StrategyContext) => void;
  /** Runs after the table, before the generation is compared and before validation. */
  prepareForUpdate?: (object: KubeObject, old: KubeObject, context: StrategyContext) => void;
  /** Defaults that depend on more than the table of defaults can say; part of decoding. */
  applyDefaults?: (object: KubeObject) => void;
  /** The table's paths of these roots are the hook's business. */
  ownsOnCreate?: readonly string[];
}

/** Sets a key, or removes it when there is no value. */
export function assign(object: JsonObject, key: string, value: JsonValue | undefined): void {
  if (value === undefined) delete object[key];
  else object[key] = value;
}

/**
 * Takes the metadata back to that of `old`, all but what each write brings along: for endpoints that change another
 * part only.
 */
export function resetMetadata(object: KubeObject, old: KubeObject): void {
  const { managedFields, resourceVersion } = object.metadata;
  object.metadata = { ...old.metadata };
  assign(object.metadata, 'managedFields', managedFields);
  assign(object.metadata, 'resourceVersion', resourceVersion);
}
