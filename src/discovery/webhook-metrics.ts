import { Histogram, Series } from './prometheus.ts';

/** A call to an admission webhook that is over. */
export interface WebhookCall {
  name: string;
  operation: string;
  type: 'admit' | 'validating';
  code: number;
  rejected: boolean;
  seconds: number;
}

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
/** Codes beyond what HTTP has count as one. */
const codeOf = (code: number) => String(code > 600 ? 600 : Math.max(code, 0));

/** Metrics of admission webhooks, under upstream's names and labels. */
export class WebhookMetrics {
  readonly #durations = new Histogram(
    'apiserver_admission_webhook_admission_duration_seconds',
    'Time that a webhook took, by what it was asked about and whether it refused.',
    ['name', 'operation', 'rejected', 'type'],
    buckets,
  );
  readonly #requests = new Series('counter', 'apiserver_admission_webhook_request_total', 'Calls of webhooks.', [
    'code',
    'name',
    'operation',
    'rejected',
    'type',
  ]);
  readonly #rejections = new Series(
    'counter',
    'apiserver_admission_webhook_rejection_count',
    'Requests refused by webhooks, or because of them.',
    ['error_type', 'name', 'operation', 'rejection_code', 'type'],
  );
  readonly #failOpen = new Series(
    'counter',
    'apiserver_admission_webhook_fail_open_count',
    'Failed calls of webhooks that let requests pass.',
    ['name', 'type'],
  );

  called({ name, operation, type, code, rejected, seconds }: WebhookCall): void {
    this.#durations.observe([name, operation, String(rejected), type], seconds);
    this.#requests.add([codeOf(code), name, operation, String(rejected), type]);
  }

  rejected(call: Pick<WebhookCall, 'name' | 'operation' | 'type' | 'code'> & { errorType: string }): void {
    const { name, operation, type, code, errorType } = call;
    this.#rejections.add([errorType, name, operation, codeOf(code), type]);
  }

  failedOpen(name: string, type: string): void {
    this.#failOpen.add([name, type]);
  }

  families(): (Series | Histogram)[] {
    return [this.#durations, this.#failOpen, this.#rejections, this.#requests];
  }
}
