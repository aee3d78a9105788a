import { inflateRawSync } from 'node:zlib';
import packed from '#openapi-descriptions';
import { isObject } from '../../api/object.ts';
import type { Definition } from './model.ts';

/** Texts by name. */
type Texts = Readonly<Record<string, string>>;

interface Descriptions {
  /** Of fields, by the name of their definition; the definition's own is under ''. */
  definitions: Readonly<Record<string, Texts>>;
  /** Of parameters that are the same wherever they occur. */
  parameters: Texts;
}

/** Text that changes whenever the descriptions do. */
export const descriptionFacts: string = packed;

/** The descriptions that were built in. They are unpacked anew for each caller, since they are large and rarely wanted. */
export function unpackDescriptions(text: string = packed): Descriptions {
  if (text === '') return { definitions: {}, parameters: {} };
  return JSON.parse(inflateRawSync(Buffer.from(text, 'base64')).toString()) as Descriptions;
}

/** The same definition with what is said of it and of its fields. */
export function described(name: string, definition: Definition, { definitions }: Descriptions): Definition {
  const found = Object.hasOwn(definitions, name) ? definitions[name] : undefined;
  if (found === undefined) return definition;
  const out: Definition = found[''] === undefined ? { ...definition } : { description: found[''], ...definition };
  if (!isObject(definition.properties)) return out;
  out.properties = Object.fromEntries(
    Object.entries(definition.properties).map(([field, schema]) =>
      isObject(schema) && Object.hasOwn(found, field)
        ? [field, { description: found[field]!, ...schema }]
        : [field, schema],
    ),
  );
  return out;
}
