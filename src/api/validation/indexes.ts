const quote = (text: string) => JSON.stringify(text);

/** First and last index of `4` or `4-7`, or what is wrong with it. */
function interval(fragment: string, completions: number): [number, number] | string {
  const limits = fragment.split('-');
  if (limits.length > 2) {
    return `the fragment ${quote(fragment)} violates the requirement that an index interval can have at most two parts separated by '-'`;
  }
  for (const limit of limits) {
    if (!/^\+?\d+$/.test(limit)) return `cannot convert string to integer for index: ${quote(limit)}`;
    if (Number(limit) >= completions) return `too large index: ${quote(limit)}`;
  }
  const [first = 0, last = first] = limits.map(Number);
  if (limits.length > 1 && first >= last) {
    return `non-increasing order, previous: ${first}, current: ${last}`;
  }
  return [first, last];
}

/** How many completion indexes a list of intervals as `1,3-5` holds, or what is wrong with it. */
export function indexCount(indexes: string, completions: number): number | string {
  if (indexes === '') return 0;
  let previous: number | undefined;
  let total = 0;
  for (const fragment of indexes.split(',')) {
    const found = interval(fragment, completions);
    if (typeof found === 'string') return found;
    const [first, last] = found;
    if (previous !== undefined && previous >= first) {
      return `non-increasing order, previous: ${previous}, current: ${first}`;
    }
    total += last - first + 1;
    previous = last;
  }
  return total;
}

/** The first index that both of two lists hold; intervals that do not parse are passed over. */
export function overlap(a: string, b: string, completions: number): number | undefined {
  const intervals = (list: string) =>
    (list === '' ? [] : list.split(',')).map((f) => interval(f, completions)).filter((i) => typeof i !== 'string');
  const [xs, ys] = [intervals(a), intervals(b)];
  for (let i = 0, j = 0; i < xs.length && j < ys.length; ) {
    const [x, y] = [xs[i]!, ys[j]!];
    if (x[0] <= y[1] && y[0] <= x[1]) return Math.max(x[0], y[0]);
    if (x[0] <= y[0]) i++;
    else j++;
  }
  return undefined;
}
