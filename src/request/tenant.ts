import type { Config } from '../config.ts';
import { noSuchResource } from '../status/status.ts';
import type { TenantUid } from './context.ts';

/**
 * The tenant that a path speaks of (`/clusters/NAME/…`, else the default one), and the path below it. This is the one
 * place where a tenant's uid is made. Throws 404 for a tenant that is not here.
 */
export function tenantOf(pathname: string, { tenant }: Config): { tenant: TenantUid; path: string } {
  const uid = tenant.uid as TenantUid;
  const match = /^\/clusters\/([^/]*)(\/.*)?$/.exec(pathname);
  if (match === null) return { tenant: uid, path: pathname };
  if (match[1] !== tenant.name) throw noSuchResource();
  return { tenant: uid, path: match[2] ?? '/' };
}
