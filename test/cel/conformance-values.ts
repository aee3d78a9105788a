import type { Value as ProtoValue } from '@bufbuild/cel-spec/cel/expr/value_pb.js';
import { ArrayList, Duration, EntryMap, Timestamp, TypeValue, Uint, type Value } from '../../src/cel/values.ts';

/** Values of the conformance data as ours; `undefined` where they need protocol buffer messages. */
export function fromProto(value: ProtoValue | undefined): Value | undefined {
  const kind = value?.kind;
  switch (kind?.case) {
    case 'nullValue':
      return null;
    case 'boolValue':
    case 'int64Value':
    case 'doubleValue':
    case 'stringValue':
    case 'bytesValue':
      return kind.value;
    case 'uint64Value':
      return new Uint(kind.value);
    case 'typeValue':
      return new TypeValue(kind.value);
    case 'listValue': {
      const items = kind.value.values.map(fromProto);
      return items.includes(undefined) ? undefined : new ArrayList(items as Value[]);
    }
    case 'mapValue': {
      const entries = kind.value.entries.map(({ key, value: v }) => [fromProto(key), fromProto(v)] as const);
      if (entries.some((entry) => entry.includes(undefined))) return undefined;
      return new EntryMap(entries as [Value, Value][]);
    }
    case 'objectValue':
      return wellKnown(kind.value.typeUrl, kind.value.value);
    default:
      return undefined;
  }
}

/** Reads `seconds` (field 1) and `nanos` (field 2) of a Timestamp or Duration. */
function wellKnown(typeUrl: string, bytes: Uint8Array): Value | undefined {
  const name = typeUrl.split('/').at(-1);
  if (name !== 'google.protobuf.Timestamp' && name !== 'google.protobuf.Duration') return undefined;
  const fields: Record<number, bigint> = {};
  for (let i = 0; i < bytes.length; ) {
    const field = bytes[i++]! >> 3;
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[i++]!;
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    fields[field] = BigInt.asIntN(64, value);
  }
  const nanos = (fields[1] ?? 0n) * 1_000_000_000n + (fields[2] ?? 0n);
  return name.endsWith('Timestamp') ? new Timestamp(nanos) : new Duration(nanos);
}
