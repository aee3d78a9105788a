import type { JsonObject } from '../api/object.ts';

/** Answer of `/version` (apimachinery version.Info): the API of Kubernetes 1.36.3, served by this server. */
export const versionInfo: JsonObject = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.3+gunwale',
  gitCommit: 'unknown',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'esbuild',
  platform: 'cloudflare/workers',
};

const kubeVersion = /^v(\d+)(?:(alpha|beta)(\d+))?$/;
const stability: Record<string, number> = { alpha: 0, beta: 1 };

/**
 * Orders version names as discovery lists them, the preferred one first: GA before beta before alpha, each by falling
 * number, then every other name alphabetically.
 */
export function compareVersions(a: string, b: string): number {
  const [ma, mb] = [kubeVersion.exec(a), kubeVersion.exec(b)];
  if (ma === null || mb === null) {
    if (ma !== null) return -1;
    if (mb !== null) return 1;
    return a < b ? -1 : a > b ? 1 : 0;
  }
  const rank = (m: RegExpExecArray) => [stability[m[2] ?? ''] ?? 2, Number(m[1]), Number(m[3] ?? 0)];
  const [ra, rb] = [rank(ma), rank(mb)];
  return rb[0]! - ra[0]! || rb[1]! - ra[1]! || rb[2]! - ra[2]!;
}
