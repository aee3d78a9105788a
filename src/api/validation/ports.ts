import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, JsonValue } from '../object.ts';
import { integer, oneOf, parts, text } from './checks.ts';

const PORT_RULE = 'must be between 1 and 65535, inclusive';

/** What is wrong with the name of a port (an IANA service name). */
export function portNameErrors(name: string): string[] {
  const out = name.length > 15 ? ['must be no more than 15 characters'] : [];
  if (!/^[-a-z0-9]+$/.test(name)) out.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) out.push('must contain at least one letter (a-z)');
  if (name.includes('--')) out.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) out.push('must not begin or end with a hyphen');
  return out;
}

/** A cause where a number is no port. */
export function portFaults(value: JsonValue | undefined, at: string): StatusCause[] {
  const port = Number(value ?? 0);
  return port >= 1 && port <= 65535 ? [] : [causes.invalid(at, port, PORT_RULE)];
}

/** Causes in the ports of a container at a path. */
export function containerPortFaults(container: JsonObject, at: string): StatusCause[] {
  const seen = new Set<string>();
  return parts(container, 'ports').flatMap((port, i) => {
    const here = `${at}.ports[${i}]`;
    const out: StatusCause[] = [];
    const name = text(port.name);
    if (name !== '') {
      const faults = portNameErrors(name);
      for (const why of faults) out.push(causes.invalid(`${here}.name`, name, why));
      if (faults.length === 0 && seen.has(name)) out.push(causes.duplicate(`${here}.name`, name));
      else if (faults.length === 0) seen.add(name);
    }
    if (!port.containerPort) out.push(causes.required(`${here}.containerPort`));
    else out.push(...portFaults(port.containerPort, `${here}.containerPort`));
    if (integer(port.hostPort) !== 0) out.push(...portFaults(port.hostPort, `${here}.hostPort`));
    return [...out, ...oneOf(port.protocol, `${here}.protocol`, ['SCTP', 'TCP', 'UDP'])];
  });
}

/** A cause for each port of the node that several of the containers ask for; `at` gives the path of one of them. */
export function hostPortFaults(containers: readonly JsonObject[], at: (index: number) => string): StatusCause[] {
  const seen = new Set<string>();
  return containers.flatMap((container, i) =>
    parts(container, 'ports').flatMap(({ hostPort, protocol, hostIP }, j) => {
      if (integer(hostPort) === 0) return [];
      const key = `${text(protocol)}/${text(hostIP)}/${integer(hostPort)}`;
      if (seen.has(key)) return [causes.duplicate(`${at(i)}.ports[${j}].hostPort`, key)];
      seen.add(key);
      return [];
    }),
  );
}
