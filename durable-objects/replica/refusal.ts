import type { Revision } from '../../src/keyspace/types.ts';
import type { Status } from '../../src/protocol/messages.ts';

/** Why a replica does not serve an operation; becomes the status of its answer. */
export class Refusal extends Error {
  readonly status: Exclude<Status, 'ok'>;
  readonly revision: Revision;

  constructor(status: Exclude<Status, 'ok'>, revision: Revision = 0) {
    super(status);
    this.status = status;
    this.revision = revision;
  }
}
