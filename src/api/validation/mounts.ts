import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { has, oneOf, part, parts, text } from './checks.ts';
import { backstepFaults, descendingPathFaults } from './paths.ts';

/** Volumes of a pod by name. */
export type Volumes = ReadonlyMap<string, JsonObject>;

const PROPAGATIONS = ['Bidirectional', 'HostToContainer', 'None'];
const RECURSION = ['Disabled', 'Enabled', 'IfPossible'];

/** Upstream names fields of this group without the index of the mount. */
function validateOptions(mount: JsonObject, container: JsonObject, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  const { mountPropagation: propagation, recursiveReadOnly: recursive } = mount;
  if (typeof propagation === 'string') {
    const here = `${at}.mountPropagation`;
    out.push(...oneOf(propagation, here, PROPAGATIONS));
    if (propagation === 'Bidirectional' && part(container, 'securityContext').privileged !== true) {
      const why = 'Bidirectional mount propagation is available only to privileged containers';
      out.push(causes.forbidden(here, why));
    }
  }
  if (typeof recursive !== 'string' || recursive === 'Disabled') return out;
  const here = `${at}.recursiveReadOnly`;
  if (!RECURSION.includes(recursive)) return [...out, causes.notSupported(here, recursive, RECURSION)];
  if (mount.readOnly !== true) out.push(causes.forbidden(here, 'may only be specified when readOnly is true'));
  if (propagation !== undefined && propagation !== 'None') {
    out.push(causes.forbidden(here, 'may only be specified when mountPropagation is None or not specified'));
  }
  return out;
}

function validateSubPath(mount: JsonObject, at: string, here: string): StatusCause[] {
  const [path, expression] = [text(mount.subPath), text(mount.subPathExpr)];
  const out = path === '' ? [] : descendingPathFaults(path, `${at}.subPath`);
  if (expression === '') return out;
  if (path !== '') {
    const why = 'subPathExpr and subPath are mutually exclusive';
    out.push(causes.invalid(`${here}.subPathExpr`, expression, why));
  }
  return [...out, ...descendingPathFaults(expression, `${at}.subPathExpr`)];
}

/** Causes in the mounts of a container at a path. */
export function mountFaults(container: JsonObject, volumes: Volumes, path: string): StatusCause[] {
  const at = `${path}.volumeMounts`;
  const paths = new Set<string>();
  const devices = parts(container, 'volumeDevices');
  return parts(container, 'volumeMounts').flatMap((mount, i) => {
    const here = `${at}[${i}]`;
    const [name, target] = [text(mount.name), text(mount.mountPath)];
    const out: StatusCause[] = [];
    if (name === '') out.push(causes.required(`${here}.name`));
    if (!volumes.has(name)) out.push(causes.notFound(`${here}.name`, name));
    if (target === '') out.push(causes.required(`${here}.mountPath`));
    if (paths.has(target)) out.push(causes.invalid(`${here}.mountPath`, target, 'must be unique'));
    paths.add(target);
    if (devices.some((device) => text(device.name) === name)) {
      out.push(causes.invalid(`${here}.name`, name, 'must not already exist in volumeDevices'));
    }
    if (devices.some((device) => text(device.devicePath) === target)) {
      out.push(causes.invalid(`${here}.mountPath`, target, 'must not already exist as a path in volumeDevices'));
    }
    return [...out, ...validateSubPath(mount, at, here), ...validateOptions(mount, container, at)];
  });
}

/** Causes in the block devices of a container at a path. */
export function deviceFaults(container: JsonObject, volumes: Volumes, path: string): StatusCause[] {
  const at = `${path}.volumeDevices`;
  const mounts = parts(container, 'volumeMounts');
  const [names, paths] = [new Set<string>(), new Set<string>()];
  return parts(container, 'volumeDevices').flatMap((device, i) => {
    const [name, target] = [text(device.name), text(device.devicePath)];
    const [nameAt, pathAt] = [`${at}[${i}].name`, `${at}[${i}].devicePath`];
    const volume = volumes.get(name);
    const out: StatusCause[] = [];
    if (name === '') out.push(causes.required(nameAt));
    if (names.has(name)) out.push(causes.invalid(nameAt, name, 'must be unique'));
    if (volume === undefined) out.push(causes.notFound(nameAt, name));
    else if (!has(volume, 'persistentVolumeClaim') && !has(volume, 'ephemeral')) {
      const why = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
      out.push(causes.invalid(nameAt, name, why));
    }
    if (target === '') out.push(causes.required(pathAt));
    if (paths.has(target)) out.push(causes.invalid(pathAt, target, 'must be unique'));
    if (backstepFaults(target, pathAt).length > 0) {
      out.push(causes.invalid(pathAt, target, "can not contain backsteps ('..')"));
    } else paths.add(target);
    if (mounts.some((mount) => text(mount.name) === name)) {
      out.push(causes.invalid(nameAt, name, 'must not already exist in volumeMounts'));
    }
    if (mounts.some((mount) => text(mount.mountPath) === target)) {
      out.push(causes.invalid(pathAt, target, 'must not already exist as a path in volumeMounts'));
    }
    if (name !== '') names.add(name);
    return out;
  });
}
