/** The checks of one run, counted and told as they are made. */
export class Tally {
  #checks = 0;
  failures = 0;

  /** Counts a check, which holds when it found no faults, and says how it went. */
  readonly verify = (title: string, faults: readonly string[]): void => {
    this.#checks++;
    if (faults.length > 0) this.failures++;
    console.log(`${faults.length === 0 ? 'ok  ' : 'FAIL'} ${title}`);
    for (const fault of faults.slice(0, 10)) console.log(`     ${fault.slice(0, 2_000)}`);
  };

  /** Says how many passed and ends the process. */
  end(): never {
    console.log(`${this.#checks - this.failures} passed, ${this.failures} failed`);
    process.exit(this.failures > 0 ? 1 : 0);
  }
}
