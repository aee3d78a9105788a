import type { WriteRecord } from './record.ts';

/** One sighting of an object: in a list, or as the ADDED event of a watch. */
export interface Sighting {
  name: string;
  resourceVersion: string;
}

/**
 * What a view of the server (a list or a watch from the start) gets wrong against the client's record: every
 * acknowledged write is there exactly once, a write of unknown outcome at most once, nothing else is there.
 */
export function completeness(view: string, records: WriteRecord[], seen: Sighting[]): string[] {
  const counts = new Map<string, number>();
  for (const { name } of seen) counts.set(name, (counts.get(name) ?? 0) + 1);
  const faults: string[] = [];
  for (const { name, outcome } of records) {
    const times = counts.get(name) ?? 0;
    counts.delete(name);
    if (outcome === 'acknowledged' && times !== 1)
      faults.push(`${view}: ${name} was acknowledged and is there ${times} times`);
    if (outcome === 'unknown' && times > 1) faults.push(`${view}: ${name} is there ${times} times`);
  }
  for (const name of counts.keys()) faults.push(`${view}: ${name} was never written`);
  return faults;
}

/** What a watch gets wrong in its order: resource versions rise strictly. */
export function order(view: string, seen: Sighting[]): string[] {
  const faults: string[] = [];
  for (let i = 1; i < seen.length; i++) {
    const [before, after] = [seen[i - 1]!, seen[i]!];
    if (BigInt(after.resourceVersion) <= BigInt(before.resourceVersion)) {
      faults.push(
        `${view}: ${after.name} at ${after.resourceVersion} came behind ${before.name} at ${before.resourceVersion}`,
      );
    }
  }
  return faults;
}

/** Two views that must be the same set of objects at the same resource versions. */
export function agreement(view: string, left: Sighting[], right: Sighting[]): string[] {
  const key = ({ name, resourceVersion }: Sighting) => `${name} at ${resourceVersion}`;
  const [a, b] = [new Set(left.map(key)), new Set(right.map(key))];
  const missing = [...a].filter((k) => !b.has(k)).concat([...b].filter((k) => !a.has(k)));
  return missing.map((k) => `${view}: only one side has ${k}`);
}
