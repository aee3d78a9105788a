import { mapOf, text } from '../../api/fields.ts';
import type { JsonObject } from '../../api/object.ts';
import { containersOf } from '../pods.ts';
import type { Check } from './checks.ts';
import { type Pod, plural, quoted, setters, sorted } from './faults.ts';

/** Checks of AppArmor, seccomp and SELinux: profiles that the pod sets as a whole, and containers for themselves. */

const contextOf = (part: JsonObject): JsonObject => mapOf(part.securityContext);
const annotationsOf = ({ metadata }: Pod): Record<string, string> =>
  Object.fromEntries(Object.entries(mapOf(metadata.annotations)).map(([key, value]) => [key, text(value)]));
const namesOf = (containers: readonly JsonObject[]) => containers.map(({ name }) => text(name));

const PROFILE_TYPES: ReadonlySet<string> = new Set(['RuntimeDefault', 'Localhost']);
const APP_ARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';

export const appArmorProfile: Check = (pod) => {
  const typeOf = (part: JsonObject) => text(mapOf(contextOf(part).appArmorProfile).type);
  const isBad = (part: JsonObject) => contextOf(part).appArmorProfile !== undefined && !PROFILE_TYPES.has(typeOf(part));
  const bad = containersOf(pod.spec).filter(isBad);
  const values = sorted([...(isBad(pod.spec) ? [pod.spec] : []), ...bad].map(typeOf));
  const annotations = Object.entries(annotationsOf(pod))
    .filter(([key]) => key.startsWith(APP_ARMOR_PREFIX))
    .filter(([, value]) => value !== '' && value !== 'runtime/default' && !value.startsWith('localhost/'))
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .sort();
  const who = [setters(isBad(pod.spec), namesOf(bad))].filter((part) => part !== '');
  if (annotations.length > 0) who.push(plural('annotation', 'annotations', annotations.length));
  if (who.length === 0) return undefined;
  const all = [...values, ...annotations];
  return {
    reason: plural('forbidden AppArmor profile', 'forbidden AppArmor profiles', all.length),
    detail: `${who.join(' and ')} must not set AppArmor profile type to ${quoted(all)}`,
  };
};

const seccompTypeOf = (part: JsonObject) => text(mapOf(contextOf(part).seccompProfile).type);
const setsSeccomp = (part: JsonObject) => contextOf(part).seccompProfile !== undefined;
const hasBadSeccomp = (part: JsonObject) => setsSeccomp(part) && !PROFILE_TYPES.has(seccompTypeOf(part));

const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
const SECCOMP_CONTAINER = 'container.seccomp.security.alpha.kubernetes.io/';

/** Before fields, seccomp profiles were annotations. */
export const seccompAnnotations: Check = (pod) => {
  const annotations = annotationsOf(pod);
  const keys = [SECCOMP_POD, ...namesOf(containersOf(pod.spec)).map((name) => `${SECCOMP_CONTAINER}${name}`)];
  const isGood = (value: string) =>
    value === 'runtime/default' || value === 'docker/default' || value.startsWith('localhost/');
  const bad = sorted(
    keys
      .filter((key) => Object.hasOwn(annotations, key) && !isGood(annotations[key]!))
      .map((key) => `${key}=${JSON.stringify(annotations[key])}`),
  );
  if (bad.length === 0) return undefined;
  const what = plural('annotation', 'annotations', bad.length);
  return { reason: 'seccompProfile', detail: `forbidden ${what} ${bad.join(', ')}` };
};

export const seccompBaseline: Check = (pod) => {
  const bad = containersOf(pod.spec).filter(hasBadSeccomp);
  const who = setters(hasBadSeccomp(pod.spec), namesOf(bad));
  if (who === '') return undefined;
  const values = sorted([...(hasBadSeccomp(pod.spec) ? [pod.spec] : []), ...bad].map(seccompTypeOf));
  return {
    reason: 'seccompProfile',
    detail: `${who} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
  };
};

export const seccompRestricted: Check = (pod) => {
  const explicit = seccompBaseline(pod);
  if (explicit !== undefined || setsSeccomp(pod.spec)) return explicit;
  const silent = namesOf(containersOf(pod.spec).filter((c) => !setsSeccomp(c)));
  if (silent.length === 0) return undefined;
  const who = `pod or ${plural('container', 'containers', silent.length)} ${quoted(silent)}`;
  return {
    reason: 'seccompProfile',
    detail: `${who} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  };
};

export const seLinuxOptions =
  (allowed: ReadonlySet<string>): Check =>
  (pod) => {
    const optionsOf = (part: JsonObject) => mapOf(contextOf(part).seLinuxOptions);
    const isBad = (part: JsonObject) => {
      const { type, user, role } = optionsOf(part);
      return !allowed.has(text(type)) || text(user) !== '' || text(role) !== '';
    };
    const badContainers = containersOf(pod.spec).filter(isBad);
    const who = setters(isBad(pod.spec), namesOf(badContainers));
    if (who === '') return undefined;
    const bad = [...(isBad(pod.spec) ? [pod.spec] : []), ...badContainers].map(optionsOf);
    const types = sorted(bad.map(({ type }) => text(type)).filter((type) => !allowed.has(type)));
    const what: string[] = [];
    if (types.length > 0) what.push(`${plural('type', 'types', types.length)} ${quoted(types)}`);
    if (bad.some(({ user }) => text(user) !== '')) what.push('user may not be set');
    if (bad.some(({ role }) => text(role) !== '')) what.push('role may not be set');
    return {
      reason: 'seLinuxOptions',
      detail: `${who} set forbidden securityContext.seLinuxOptions: ${what.join('; ')}`,
    };
  };
