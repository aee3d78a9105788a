import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { plugins } from '../../src/admission/plugins.ts';

const UPSTREAM =
  'NamespaceLifecycle LimitRanger ServiceAccount NodeRestriction TaintNodesByCondition Priority DefaultTolerationSeconds DefaultStorageClass StorageObjectInUseProtection PodGroupProtection RuntimeClass DefaultIngressClass PodTopologyLabels MutatingAdmissionPolicy MutatingAdmissionWebhook PodSecurity ResourceQuota'.split(
    ' ',
  );

it('plugins run in upstream’s order', () => {
  const places = plugins.map(({ name }) => UPSTREAM.indexOf(name));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places).not.toContain(-1);
});

it('every plugin file is in the list', () => {
  const own = ['chain.ts', 'lookup.ts', 'plugins.ts', 'default-classes.ts'];
  const files = readdirSync('src/admission').filter((file) => !own.includes(file));
  expect(plugins.length - 2).toBe(files.length);
});
