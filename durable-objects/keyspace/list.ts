import type { Revision, Selector } from '../../src/keyspace/types.ts';
import { withoutValue } from '../../src/protocol/records.ts';
import { matches } from './selector.ts';
import type { StateMachine } from './state.ts';
import { rangeOf, type Version } from './storage.ts';

/** Bytes of records after which a page ends. */
export const PAGE_BYTES = 4 << 20;

export interface ListQuery {
  prefix: string;
  /** Only keys strictly greater. */
  after: string | undefined;
  /** 0: no limit. */
  limit: number;
  /** Undefined: the present state. */
  revision: Revision | undefined;
  selector: Selector | undefined;
  term: string | undefined;
  keysOnly: boolean;
}

export interface Page {
  /** Stored forms. */
  records: Uint8Array[];
  lastKey: string | undefined;
  more: boolean;
  remaining: number | undefined;
}

/**
 * One page of the records that a query selects, in key order. `query.revision` must lie between the compaction point and
 * the present revision. `pageBytes` bounds the page, which holds at least one record when any matches.
 */
export function listPage(state: StateMachine, query: ListQuery, pageBytes = PAGE_BYTES): Page {
  const range = rangeOf(query.prefix);
  if (query.after !== undefined && query.after >= range.from) range.from = `${query.after}\0`;
  const now = query.revision === undefined || query.revision >= state.scalars.revision;
  const versions = now ? state.scan(range, query.term) : state.scanAt(query.revision!, range, query.term);
  const page: Page = { records: [], lastKey: undefined, more: false, remaining: undefined };
  let bytes = 0;
  for (const version of versions) {
    if (!matches(version.record, query.selector)) continue;
    if ((query.limit > 0 && page.records.length >= query.limit) || (bytes >= pageBytes && page.records.length > 0)) {
      page.more = true;
      break;
    }
    const record = query.keysOnly ? withoutValue(version.record) : version.record;
    bytes += record.length;
    page.records.push(record);
    page.lastKey = version.key;
  }
  if (page.more && query.selector === undefined && query.term === undefined) {
    range.from = `${page.lastKey}\0`;
    page.remaining = now ? state.count(range) : size(state.scanAt(query.revision!, range));
  }
  return page;
}

function size(versions: Iterable<Version>): number {
  let count = 0;
  for (const _ of versions) count++;
  return count;
}
