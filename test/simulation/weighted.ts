/** Choices by name, each with how often it is made compared with the others. */
export type Weighted<T> = readonly (readonly [name: string, weight: number, choice: T])[];

/** One of the choices; `random` is uniform in [0, 1). */
export function draw<T>(
  random: () => number,
  choices: Weighted<T>,
): readonly [name: string, weight: number, choice: T] {
  let left = random() * choices.reduce((sum, [, weight]) => sum + weight, 0);
  for (const choice of choices) {
    left -= choice[1];
    if (left < 0) return choice;
  }
  return choices.at(-1)!;
}
