/** Index of the first item that is not `below` what is looked for; items that are come first. */
export function lowerBound<T>(items: readonly T[], below: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (below(items[middle]!)) low = middle + 1;
    else high = middle;
  }
  return low;
}
