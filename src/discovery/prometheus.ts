/** A small Prometheus registry: counters, gauges and histograms, rendered in text format 0.0.4. */

interface Family {
  render(out: string[]): void;
}

const escapeValue = (value: string) => value.replace(/[\\"\n]/g, (c) => (c === '\n' ? '\\n' : `\\${c}`));

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return Number.isInteger(value) && Math.abs(value) < 1e21
    ? String(value)
    : String(value).replace(/e\+?(-?)(\d)$/, 'e$10$2');
}

/** One number per set of label values. */
export class Series implements Family {
  readonly #head: string;
  readonly #name: string;
  readonly #labels: readonly string[];
  readonly #values = new Map<string, number>();

  constructor(type: 'counter' | 'gauge', name: string, help: string, labels: readonly string[]) {
    this.#head = `# HELP ${name} ${help}\n# TYPE ${name} ${type}`;
    this.#name = name;
    this.#labels = labels;
    if (labels.length === 0 && type === 'counter') this.#values.set('', 0);
  }

  /** Adds to the number under these label values, given in the order of the labels. */
  add(values: readonly string[], amount = 1): void {
    const key = labelText(this.#labels, values);
    this.#values.set(key, (this.#values.get(key) ?? 0) + amount);
  }

  set(values: readonly string[], value: number): void {
    this.#values.set(labelText(this.#labels, values), value);
  }

  get(values: readonly string[]): number {
    return this.#values.get(labelText(this.#labels, values)) ?? 0;
  }

  render(out: string[]): void {
    out.push(this.#head);
    for (const [labels, value] of this.#values) out.push(`${this.#name}${braces(labels)} ${number(value)}`);
  }
}

interface Buckets {
  counts: number[];
  sum: number;
  count: number;
}

/** Observations per set of label values, counted in buckets. */
export class Histogram implements Family {
  readonly #head: string;
  readonly #name: string;
  readonly #labels: readonly string[];
  readonly #bounds: readonly number[];
  readonly #values = new Map<string, Buckets>();

  constructor(name: string, help: string, labels: readonly string[], bounds: readonly number[]) {
    this.#head = `# HELP ${name} ${help}\n# TYPE ${name} histogram`;
    this.#name = name;
    this.#labels = labels;
    this.#bounds = bounds;
  }

  observe(values: readonly string[], value: number): void {
    const key = labelText(this.#labels, values);
    let buckets = this.#values.get(key);
    if (buckets === undefined) {
      buckets = { counts: this.#bounds.map(() => 0), sum: 0, count: 0 };
      this.#values.set(key, buckets);
    }
    const at = this.#bounds.findIndex((bound) => value <= bound);
    if (at >= 0) buckets.counts[at]!++;
    buckets.sum += value;
    buckets.count++;
  }

  render(out: string[]): void {
    out.push(this.#head);
    for (const [labels, { counts, sum, count }] of this.#values) {
      const prefix = labels === '' ? '' : `${labels},`;
      let below = 0;
      counts.forEach((n, i) => {
        below += n;
        out.push(`${this.#name}_bucket{${prefix}le="${number(this.#bounds[i]!)}"} ${below}`);
      });
      out.push(`${this.#name}_bucket{${prefix}le="+Inf"} ${count}`);
      out.push(`${this.#name}_sum${braces(labels)} ${number(sum)}`);
      out.push(`${this.#name}_count${braces(labels)} ${count}`);
    }
  }
}

const braces = (labels: string) => (labels === '' ? '' : `{${labels}}`);

const labelText = (names: readonly string[], values: readonly string[]) =>
  names.map((name, i) => `${name}="${escapeValue(values[i] ?? '')}"`).join(',');

/** Families as one text, in the order given. */
export function renderFamilies(families: readonly Family[]): string {
  const out: string[] = [];
  for (const family of families) family.render(out);
  return `${out.join('\n')}\n`;
}
