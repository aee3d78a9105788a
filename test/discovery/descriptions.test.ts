import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtinDefinitions } from '../../src/discovery/openapi/builtin.ts';
import { described, unpackDescriptions } from '../../src/discovery/openapi/descriptions.ts';

const root = join(import.meta.dirname, '../..');

describe('descriptions of the API', () => {
  execFileSync(process.execPath, ['src/local/descriptions.mjs'], { cwd: root });
  const file = join(root, 'build/openapi-descriptions.js');
  const load = async () => unpackDescriptions(((await import(file)) as { default: string }).default);

  test('the build makes them for nearly every definition', async () => {
    expect(existsSync(file)).toBe(true);
    const known = Object.keys((await load()).definitions);
    expect(known.length).toBeGreaterThan(builtinDefinitions.length * 0.95);
    expect(known.filter((name) => !builtinDefinitions.includes(name))).toEqual([]);
  });

  test('fields are told by their names in JSON, whatever they hold', async () => {
    const { properties } = described(
      'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta',
      { type: 'object', properties: { continue: { type: 'string' } } },
      await load(),
    ) as { properties: Record<string, { description: string; type: string }> };
    expect(properties.continue?.description).toMatch(/^continue may be set/);
    const pod = (await load()).definitions['io.k8s.api.core.v1.Pod'];
    expect(pod?.spec).toMatch(/^Specification of the desired behavior of the pod/);
  });

  test('parameters are told where they mean one thing', async () => {
    const { parameters } = await load();
    expect(parameters.fieldSelector).toBe(
      'A selector to restrict the list of returned objects by their fields. Defaults to everything.',
    );
    expect(parameters.watch).toMatch(/^Watch for changes to the described resources/);
    expect([parameters.name, parameters.body, parameters.container]).toEqual([undefined, undefined, undefined]);
  });
});

test('without a build there are none, and definitions stay as they are', () => {
  const definition = { type: 'object' };
  expect(described('io.k8s.api.core.v1.Pod', definition, unpackDescriptions(''))).toBe(definition);
});
