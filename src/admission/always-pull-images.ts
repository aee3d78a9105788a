import { mapOf, objects } from '../api/fields.ts';
import { isObject, type JsonObject } from '../api/object.ts';
import { causes, forbidden } from '../status/status.ts';
import { type Attributes, type Plugin, subjectOf } from './chain.ts';
import { containersOf } from './pods.ts';

const ALWAYS = 'Always';

const imagesOf = (spec: JsonObject) => containersOf(spec).map(({ image }) => image);

/** Updates that bring no image of their own are left alone. */
function concerns({ object, old }: Attributes): boolean {
  if (old === undefined) return true;
  const known = imagesOf(mapOf(old.spec));
  return imagesOf(mapOf(object?.spec)).some((image) => !known.includes(image));
}

/** Makes every image be pulled, so that a pull secret is asked for even where a node has the image already. */
export const alwaysPullImages: Plugin = {
  name: 'AlwaysPullImages',
  resources: ['/pods'],
  operations: ['CREATE', 'UPDATE'],
  admit: (attributes) => {
    if (!concerns(attributes)) return;
    const spec = mapOf(attributes.object!.spec);
    for (const container of containersOf(spec)) container.imagePullPolicy = ALWAYS;
    for (const { image } of objects(spec.volumes)) if (isObject(image)) image.pullPolicy = ALWAYS;
  },
  validate: (attributes) => {
    if (!concerns(attributes)) return;
    const spec = mapOf(attributes.object!.spec);
    for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
      for (const [i, { imagePullPolicy }] of objects(spec[list]).entries()) {
        if (imagePullPolicy === ALWAYS) continue;
        const field = `spec.${list}[${i}].imagePullPolicy`;
        const { message } = causes.notSupported(field, imagePullPolicy, [ALWAYS]);
        throw forbidden(subjectOf(attributes), attributes.name, `${field}: ${message}`);
      }
    }
  },
};
