import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { choiceFault, chosen, order } from '../../src/admission/order.ts';
import { enabledPlugins, plugins } from '../../src/admission/plugins.ts';
import { parseConfig } from '../../src/config.ts';
import { parseOptions } from '../../src/local/options.ts';

const config = (admissionPlugins?: object) =>
  parseConfig(JSON.stringify({ tenant: { uid: 't', name: 't', replicas: [1] }, admissionPlugins }));

describe('order of the admission plugins', () => {
  it('every plugin has its place, once', () => {
    const names = order.map(({ name }) => name as string);
    expect(new Set(names).size).toBe(names.length);
    for (const { name } of plugins) expect(names).toContain(name);
    expect(new Set(plugins.map(({ name }) => name)).size).toBe(plugins.length);
  });

  it('every file of a plugin is in the list', () => {
    const files = readdirSync('src/admission').filter((file) => file.endsWith('.ts'));
    const exported = files.filter((file) => plugins.some(({ name }) => fileOf(name) === file));
    const helpers = files.filter((file) => !exported.includes(file));
    expect(helpers.sort()).toEqual(HELPERS);
  });

  it('quota is last of those that may refuse, and nothing runs that nobody turned on', () => {
    expect(chosen({ enable: [], disable: [] }).at(-1)).toBe('ResourceQuota');
    expect(chosen({ enable: [], disable: [] })).not.toContain('AlwaysPullImages');
    expect(chosen({ enable: ['AlwaysPullImages'], disable: ['PodSecurity'] })).toContain('AlwaysPullImages');
    expect(enabledPlugins(config({ disable: ['PodSecurity'] })).map((p) => p.name)).not.toContain('PodSecurity');
  });
});

describe('choice of the admission plugins', () => {
  it('comes from the flags, several times if need be', () => {
    const { admissionPlugins } = parseOptions([
      '--enable-admission-plugins=AlwaysPullImages,NamespaceExists',
      '--enable-admission-plugins',
      'EventRateLimit',
      '--disable-admission-plugins=Priority',
    ]);
    expect(admissionPlugins).toEqual({
      enable: ['AlwaysPullImages', 'NamespaceExists', 'EventRateLimit'],
      disable: ['Priority'],
    });
  });

  it('fails the start for names that are unknown, or both on and off', () => {
    expect(() => parseOptions(['--enable-admission-plugins=Nonesuch'])).toThrow(/unknown plugin "Nonesuch"; known are/);
    expect(() => config({ disable: ['Nonesuch'] })).toThrow(/admissionPlugins: .*unknown plugin "Nonesuch"/);
    expect(choiceFault({ enable: ['Priority'], disable: ['Priority'] })).toMatch(/Priority is in both/);
    expect(choiceFault({ enable: ['Priority'], disable: [] })).toBeUndefined();
  });
});

/** Files that hold something else than one plugin of that name. */
const HELPERS = [
  'chain.ts',
  'configuration.ts',
  'default-classes.ts',
  'limits.ts',
  'lookup.ts',
  'order.ts',
  'plugins.ts',
  'pod-resources.ts',
  'pods.ts',
  'resource-lists.ts',
  'storage-protection.ts',
  'taint-nodes.ts',
];

const fileOf = (name: string): string => `${name.replace(/([a-z])([A-Z])/g, '$1-$2').toLowerCase()}.ts`;
