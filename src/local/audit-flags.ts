import { resolve } from 'node:path';
import type { AuditWebhook } from '../audit/webhook.ts';
import { durationMilliseconds } from '../authz/configuration.ts';
import { type Flag, UsageError } from './usage.ts';
import { connectionOf } from './webhook-kubeconfig.ts';

const texts = {
  'audit-webhook-config-file': ['FILE', 'kubeconfig of the webhook that audit events go to'],
  'audit-webhook-batch-buffer-size': ['N', 'events that wait for the webhook at most (10000)'],
  'audit-webhook-batch-max-size': ['N', 'events that are sent to it together at most (400)'],
  'audit-webhook-batch-max-wait': ['DURATION', 'how long events gather for it (2s)'],
  'audit-webhook-initial-backoff': ['DURATION', 'pause before it is tried a second time (1s)'],
  'audit-webhook-version': ['audit.k8s.io/v1', 'version of its events'],
} as const satisfies Record<string, readonly [string, string]>;

type AuditFlag = keyof typeof texts;

/** What these flags were given, by name; those that were not are absent. */
export type AuditWebhookFlags = Partial<Record<AuditFlag, string>>;

/** Flags of kube-apiserver for the audit webhook, with their names. */
export const auditWebhookFlags: Flag<{ auditWebhook: AuditWebhookFlags }>[] = Object.entries(texts).map(
  ([name, [value, help]]) => ({
    name,
    value,
    help,
    set: (options, text) => {
      options.auditWebhook = { ...options.auditWebhook, [name]: value === 'FILE' ? resolve(text) : text };
    },
  }),
);

function countOf(flags: AuditWebhookFlags, name: AuditFlag): number | undefined {
  const text = flags[name];
  if (text !== undefined && !/^[1-9]\d{0,6}$/.test(text)) throw new UsageError(`--${name} must be a positive number.`);
  return text === undefined ? undefined : Number(text);
}

function durationOf(flags: AuditWebhookFlags, name: AuditFlag): number | undefined {
  const text = flags[name];
  const duration = text === undefined ? undefined : durationMilliseconds(text);
  if (text !== undefined && duration === undefined) throw new UsageError(`--${name} must be a duration such as 2s.`);
  return duration;
}

/** What the Worker is told of the audit webhook; nothing without one. Throws UsageError. */
export function auditWebhookOf(flags: AuditWebhookFlags): { auditWebhook?: Partial<AuditWebhook> } {
  const path = flags['audit-webhook-config-file'];
  const given = {
    bufferSize: countOf(flags, 'audit-webhook-batch-buffer-size'),
    maxSize: countOf(flags, 'audit-webhook-batch-max-size'),
    maxWaitMilliseconds: durationOf(flags, 'audit-webhook-batch-max-wait'),
    initialBackoffMilliseconds: durationOf(flags, 'audit-webhook-initial-backoff'),
  };
  if ((flags['audit-webhook-version'] ?? 'audit.k8s.io/v1') !== 'audit.k8s.io/v1')
    throw new UsageError('--audit-webhook-version must be audit.k8s.io/v1.');
  if (path === undefined) return {};
  const told = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { auditWebhook: { connection: connectionOf('audit webhook configuration', path), ...told } };
}
