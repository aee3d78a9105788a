import { urlError } from '../../cel/library/url.ts';
import { causes, type StatusCause } from '../../status/status.ts';
import type { JsonObject } from '../object.ts';
import { each, has, integer, part, text } from './checks.ts';
import { dns1035LabelErrors, dnsSubdomainErrors } from './names.ts';

/** Where a webhook is called (k8s.io/apiserver, pkg/util/webhook/validation.go). */

const FORM = '; desired format: https://host[/path]';
const URL_PARTS = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s;

function urlFaults(url: string, at: string): StatusCause[] {
  const why = urlError(url);
  if (why !== undefined) return [causes.required(at, `url must be a valid URL: ${why}${FORM}`)];
  const [, scheme = '', authority = '', query = '', fragment = ''] = URL_PARTS.exec(url) ?? [];
  const user = authority.lastIndexOf('@');
  const out: StatusCause[] = [];
  if (scheme.toLowerCase() !== 'https') {
    out.push(causes.invalid(at, scheme.toLowerCase(), `'https' is the only allowed URL scheme${FORM}`));
  }
  if (authority.slice(user + 1) === '') out.push(causes.invalid(at, '', `host must be specified${FORM}`));
  if (user >= 0) {
    out.push(causes.invalid(at, authority.slice(0, user), 'user information is not permitted in the URL'));
  }
  if (fragment !== '') out.push(causes.invalid(at, fragment, 'fragments are not permitted in the URL'));
  if (query !== '') out.push(causes.invalid(at, query, 'query parameters are not permitted in the URL'));
  return out;
}

function pathFaults(path: string, at: string): StatusCause[] {
  if (path === '' || path === '/') return [];
  if (path === '//') return [causes.invalid(at, path, 'segment[0] may not be empty')];
  const segments = path.slice(1).replace(/\/$/, '').split('/');
  return [
    ...(path.startsWith('/') ? [] : [causes.invalid(at, path, "must start with a '/'")]),
    ...segments.flatMap((segment, i) => {
      if (segment === '') return [causes.invalid(at, path, `segment[${i}] may not be empty`)];
      return dnsSubdomainErrors(segment).map((why) => causes.invalid(at, path, `segment[${i}]: ${why}`));
    }),
  ];
}

function serviceFaults(service: JsonObject, at: string): StatusCause[] {
  const out: StatusCause[] = [];
  for (const key of ['name', 'namespace']) {
    if (text(service[key]) === '') out.push(causes.required(`${at}.${key}`));
  }
  const port = integer(service.port);
  if (port < 1 || port > 65535) {
    out.push(causes.invalid(`${at}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'));
  }
  return [...out, ...pathFaults(text(service.path), `${at}.path`)];
}

/** Causes in a WebhookClientConfig, which names a URL or a Service. */
export function webhookClientFaults(client: JsonObject, at: string): StatusCause[] {
  if (has(client, 'url') === has(client, 'service')) {
    return [causes.required(at, 'exactly one of url or service is required')];
  }
  if (has(client, 'url')) return urlFaults(text(client.url), `${at}.url`);
  return serviceFaults(part(client, 'service'), `${at}.service`);
}

const REVIEWS = ['v1', 'v1beta1'];

/** Whether one of these versions of reviews is known. */
export const hasKnownReview = (versions: readonly string[]): boolean => versions.some((v) => REVIEWS.includes(v));

/** Causes in the versions of reviews that a webhook takes; one of them has to be known. `why`: what to tell if there are none. */
export function reviewVersionFaults(versions: readonly string[], at: string, why: string, known = true): StatusCause[] {
  if (versions.length === 0) return [causes.required(at, why)];
  const out = versions.flatMap((version, i) => {
    if (versions.indexOf(version) < i) return [causes.invalid(`${at}[${i}]`, version, 'duplicate version')];
    return each(`${at}[${i}]`, version, dns1035LabelErrors(version));
  });
  if (!known || hasKnownReview(versions)) return out;
  return [...out, causes.invalid(at, versions, `must include at least one of ${REVIEWS.join(', ')}`)];
}
