import type { JsonValue, KubeObject } from '../../api/object.ts';
import type { Resource } from '../../registry/resource.ts';

/** The cells of one object in the order of its resource's columns. `now` is milliseconds since the epoch. */
export type Printer = (object: KubeObject, now: number) => JsonValue[];

/** Printers by `group/resource`. */
export type Printers = Readonly<Record<string, Printer>>;

export const printerKey = (resource: Pick<Resource, 'group' | 'resource'>): string =>
  `${resource.group}/${resource.resource}`;
