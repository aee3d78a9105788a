import { describe, expect, it } from 'vitest';
import { settingsOf } from '../../src/admission/configuration.ts';
import { absent, choiceFault, chosen, order } from '../../src/admission/order.ts';
import { enabledPlugins, pluginsWith } from '../../src/admission/plugins.ts';
import { parseConfig } from '../../src/config.ts';
import { parseOptions } from '../../src/local/options.ts';

const plugins = pluginsWith(settingsOf(undefined));
const config = (admissionPlugins?: object) =>
  parseConfig(JSON.stringify({ tenant: { uid: 't', name: 't', replicas: [1] }, admissionPlugins }));

describe('order of the admission plugins', () => {
  it('every plugin has its place, once', () => {
    const names = order.map(({ name }) => name as string);
    expect(new Set(names).size).toBe(names.length);
    const made = plugins.map(({ name }) => name);
    expect(new Set(made).size).toBe(made.length);
    const elsewhere = Object.keys(absent);
    const unmade = names.filter((name) => !made.includes(name) && !elsewhere.includes(name));
    expect(unmade).toEqual([]);
    expect(made.filter((name) => !names.includes(name) || elsewhere.includes(name))).toEqual([]);
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
