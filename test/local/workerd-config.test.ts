import { describe, expect, test } from 'vitest';
import { planProcesses } from '../../src/local/layout.ts';
import { type ClusterWiring, workerdConfig } from '../../src/local/workerd-config.ts';

function configurations(processes: number): Map<string, string> {
  const plans = planProcesses('/data', [1, 2, 3], processes);
  const socket = (name: string) => `/run/${name}.sock`;
  const wiring: ClusterWiring = {
    plans,
    config: '{"a":"\\n\\"\u0001"}',
    cfBlobHeader: 'cf-random',
    egressKey: 'egress-random',
    audits: false,
    socket,
  };
  return new Map(plans.map((plan) => [plan.role, workerdConfig(plan, wiring, 'bundle.js')]));
}

describe('layouts', () => {
  test('one process hosts everything and listens for clients only', () => {
    const [config] = configurations(1).values();
    expect(config).toContain('className = "Replica"');
    expect(config).toContain('className = "ControlLoops"');
    expect(config).not.toContain('GUNWALE_OWN_REPLICAS');
    expect(config!.match(/address = /g)).toHaveLength(2);
  });

  test('two processes: the API owns no replica and reaches all through one socket', () => {
    const all = configurations(2);
    expect([...all.keys()]).toEqual(['api', 'replicas']);
    expect(all.get('api')).toContain('name = "GUNWALE_OWN_REPLICAS", text = "[]"');
    for (const id of [1, 2, 3])
      expect(all.get('api')).toContain(`name = "REPLICA_PROCESS_${id}", service = "replicas"`);
    expect(all.get('api')).not.toContain('className = "Replica"');
  });

  test('a process per replica: each owns one, on its own disk, and reaches the others', () => {
    const all = configurations(3);
    const second = all.get('replica-2')!;
    expect(second).toContain('text = "[2]"');
    expect(second).toContain('path = "/data/replica-2"');
    expect(second).toContain('REPLICA_PROCESS_1');
    expect(second).toContain('REPLICA_PROCESS_3');
    expect(second).not.toContain('REPLICA_PROCESS_2"');
    expect(second).toContain('entrypoint = "ReplicaGateway"');
    expect(second).toContain('LOOPS_GATEWAY');
  });
});

test('only the socket for clients takes request.cf, and every socket is a unix socket', () => {
  for (const [role, config] of configurations(3)) {
    expect(config.match(/cfBlobHeader/g) ?? []).toHaveLength(role === 'api' ? 1 : 0);
    for (const [, address] of config.matchAll(/address = "([^"]*)"/g)) expect(address).toMatch(/^unix:/);
  }
});

test('text is quoted for the configuration language', () => {
  const config = configurations(1).get('api')!;
  expect(config).toContain('"{\\"a\\":\\"\\\\n\\\\\\"\\x01\\"}"');
});
