// The X.509 library needs the metadata API, and needs it first.
import 'reflect-metadata';
import { PemConverter, X509Certificate } from '@peculiar/x509';
import { mapOf, objects, text } from '../api/fields.ts';
import type { KubeObject } from '../api/object.ts';

const HOUR_MS = 3_600_000;
/** How long a request is kept that was answered, and one that waits for an answer or a certificate. */
const ANSWERED_MS = HOUR_MS;
const WAITING_MS = 24 * HOUR_MS;

function endOf(certificate: string): number {
  try {
    return new X509Certificate(PemConverter.decodeFirst(atob(certificate))).notAfter.getTime();
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * When a certificate signing request is to be removed, in milliseconds since 1970: an hour after it was denied, has
 * failed or was approved and signed; a day after it came or was approved and nothing followed; with its certificate.
 */
export function removalOf(request: KubeObject): number {
  const status = mapOf(request.status);
  const certificate = text(status.certificate);
  const conditions = objects(status.conditions);
  const waits = Date.parse(request.metadata.creationTimestamp ?? '') + WAITING_MS;
  if (conditions.length === 0) return waits;
  const deadlines = conditions.map(({ type, lastUpdateTime }) => {
    const since = Date.parse(text(lastUpdateTime));
    if (Number.isNaN(since)) return Number.POSITIVE_INFINITY;
    if (type === 'Denied' || type === 'Failed') return since + ANSWERED_MS;
    return type === 'Approved' ? since + (certificate === '' ? WAITING_MS : ANSWERED_MS) : Number.POSITIVE_INFINITY;
  });
  const isApproved = conditions.some(({ type }) => type === 'Approved');
  return Math.min(...deadlines, isApproved && certificate !== '' ? endOf(certificate) : Number.POSITIVE_INFINITY);
}
