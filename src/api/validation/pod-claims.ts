import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject, JsonValue } from '../object.ts';
import { each, has, parts, text } from './checks.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from './names.ts';

const SOURCES = ['resourceClaimName', 'resourceClaimTemplateName'] as const;

/** A claim as upstream shows it: its internal type, with Go's field names. */
const shown = (claim: JsonObject): JsonValue => ({
  Name: text(claim.name),
  ResourceClaimName: claim.resourceClaimName ?? null,
  ResourceClaimTemplateName: claim.resourceClaimTemplateName ?? null,
});

/** Causes in the resource claims of a pod, whose spec is at a path. */
export function resourceClaimFaults(spec: JsonObject, path: string): StatusCause[] {
  const seen = new Set<string>();
  return parts(spec, 'resourceClaims').flatMap((claim, i) => {
    const at = `${path}.resourceClaims[${i}]`;
    const name = text(claim.name);
    const out: StatusCause[] = [];
    if (name === '') out.push(causes.required(`${at}.name`));
    else if (seen.has(name)) out.push(causes.duplicate(`${at}.name`, name));
    else out.push(...each(`${at}.name`, name, dnsLabelErrors(name)));
    seen.add(name);
    const given = SOURCES.filter((key) => has(claim, key));
    const [first, second] = SOURCES;
    if (given.length === 2) {
      out.push(causes.invalid(at, shown(claim), `at most one of \`${first}\` or \`${second}\` may be specified`));
    }
    if (given.length === 0) {
      out.push(causes.invalid(at, shown(claim), `must specify one of: \`${first}\`, \`${second}\``));
    }
    return [
      ...out,
      ...given.flatMap((key) => each(`${at}.${key}`, text(claim[key]), dnsSubdomainErrors(text(claim[key])))),
    ];
  });
}
