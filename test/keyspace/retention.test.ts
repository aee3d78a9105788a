import { describe, expect, it } from 'vitest';
import { Retention } from '../../durable-objects/keyspace/retention.ts';

describe('retention', () => {
  it('lets history go once it is old', () => {
    const retention = new Retention({ ms: 300_000, revisions: 1_000, bytes: 1_000_000 });
    retention.note(0, 5, 10);
    retention.note(10_000, 9, 10);
    expect(retention.take(300_000)).toBe(0);
    expect(retention.due).toBe(315_000);
    expect(retention.take(306_000)).toBe(5);
    expect(retention.take(320_000)).toBe(9);
    expect(retention.due).toBeUndefined();
  });

  it('lets history go early when there is too much of it', () => {
    const many = new Retention({ ms: 300_000, revisions: 10, bytes: 1_000_000 });
    many.note(0, 5, 10);
    many.note(10_000, 20, 10);
    expect(many.take(10_000)).toBe(5);
    const large = new Retention({ ms: 300_000, revisions: 1_000, bytes: 100 });
    large.note(0, 1, 60);
    large.note(10_000, 2, 120);
    expect(large.take(10_000)).toBe(1);
  });
});
