import { at, objectAt, objectsAt, text } from '../../api/fields.ts';
import { deepEqual, type JsonObject, type KubeObject } from '../../api/object.ts';

/** Annotations that named the AppArmor profile of a container before there was a field: this and the container's name. */
export const APP_ARMOR_ANNOTATION = 'container.apparmor.security.beta.kubernetes.io/';
/** What is said of the annotation. */
export const APP_ARMOR_ADVICE = 'deprecated since v1.30; use the "appArmorProfile" field instead';
const MAX_PROFILE = 4095;

/** The profile that an annotation names; undefined where it names none. */
export function appArmorOf(annotation: string): JsonObject | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  const localhostProfile = /^localhost\/(.+)$/s.exec(annotation)?.[1];
  return localhostProfile === undefined ? undefined : { type: 'Localhost', localhostProfile };
}

function isValid(profile: JsonObject): boolean {
  const name = profile.localhostProfile;
  return typeof name !== 'string' || (name.trim() === name && name.length <= MAX_PROFILE);
}

/** Gives containers of a new pod the profile of their annotation where they have none, and warns of those annotations. */
export function takeAppArmorAnnotations(pod: KubeObject, warnings: string[]): void {
  const spec = objectAt(pod, 'spec');
  if (text(objectAt(spec, 'os').name) === 'windows') return;
  const podProfile = at(spec, 'securityContext', 'appArmorProfile');
  for (const list of ['initContainers', 'containers', 'ephemeralContainers']) {
    for (const container of objectsAt(spec, list)) {
      const key = `${APP_ARMOR_ANNOTATION}${text(container.name)}`;
      const annotation = pod.metadata.annotations?.[key];
      if (annotation === undefined || at(container, 'securityContext', 'appArmorProfile') !== undefined) continue;
      const named = appArmorOf(annotation);
      const profile = named !== undefined && isValid(named) ? named : undefined;
      if (profile !== undefined && deepEqual(profile, podProfile)) continue;
      if (profile !== undefined) {
        container.securityContext = { ...objectAt(container, 'securityContext'), appArmorProfile: profile };
      }
      warnings.push(`metadata.annotations[${key}]: ${APP_ARMOR_ADVICE}`);
    }
  }
}
