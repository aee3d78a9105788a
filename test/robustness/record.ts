import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';

/** What the client knows of one write: 201 came, or an error whose outcome is open. */
export interface WriteRecord {
  name: string;
  outcome: 'acknowledged' | 'unknown';
  detail: string;
}

/** The client's own record of its writes: a file with a line for each, written when the answer came. */
export class WriteLog {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    writeFileSync(path, '');
  }

  add(record: WriteRecord): void {
    appendFileSync(this.#path, `${JSON.stringify(record)}\n`);
  }

  read(): WriteRecord[] {
    const lines = readFileSync(this.#path, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as WriteRecord);
  }
}
