import type { Config } from './types.ts';

/** A configuration with every default filled in. */
export type Settings = Required<Config>;

/** Fills in the defaults. Throws RangeError if a value is out of range. */
export function resolveConfig(config: Config): Settings {
  const settings: Settings = {
    applied: config.storage.firstIndex() - 1,
    electionTimeoutMs: 1000,
    heartbeatIntervalMs: 150,
    maxAppendBytes: 1 << 20,
    maxInflightAppends: 64,
    maxInflightBytes: 8 << 20,
    maxUncommittedBytes: 16 << 20,
    maxApplyBytes: 4 << 20,
    ...definedOnly(config),
  };
  check(Number.isSafeInteger(settings.id) && settings.id > 0, 'id must be a positive integer');
  check(Number.isFinite(settings.now), 'now must be a finite number');
  check(settings.heartbeatIntervalMs > 0, 'heartbeatIntervalMs must be positive');
  check(settings.electionTimeoutMs > settings.heartbeatIntervalMs, 'electionTimeoutMs must exceed heartbeatIntervalMs');
  check(settings.maxInflightAppends >= 1, 'maxInflightAppends must be at least 1');
  check(settings.maxInflightBytes >= settings.maxAppendBytes, 'maxInflightBytes must not be below maxAppendBytes');
  check(settings.maxUncommittedBytes > 0, 'maxUncommittedBytes must be positive');
  check(settings.maxApplyBytes > 0, 'maxApplyBytes must be positive');
  return settings;
}

/** A key that is present but undefined must not hide the default. */
function definedOnly(config: Config): Config {
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined)) as unknown as Config;
}

function check(holds: boolean, message: string): void {
  if (!holds) throw new RangeError(`raft: ${message}`);
}
