import { type JsonObject, setKey } from '../api/object.ts';
import { badRequest } from '../status/status.ts';

/** How the options of a call are read off its query. */
export type Fields = Readonly<Record<string, 'text' | 'texts' | 'flag' | 'integer' | 'integers'>>;

/** A number of a query. Throws 400 where it is none, in the words of Go's strconv. */
function integerOf(value: string, bits: 32 | 64): number {
  const fault = (why: string) => badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: ${why}`);
  if (!/^[+-]?\d+$/.test(value)) throw fault('invalid syntax');
  const limit = 2n ** BigInt(bits - 1);
  const number = BigInt(value);
  if (number >= limit || number < -limit) throw fault('value out of range');
  return Number(number);
}

/** A flag of a query: set, unless it says `false` or `0`. */
const flagOf = (value: string) => value.toLowerCase() !== 'false' && value !== '0';

/** The options of a call as an object, with what the query gives. Throws 400 for what cannot be read. */
export function readQuery(query: URLSearchParams, fields: Fields): JsonObject {
  const out: JsonObject = {};
  for (const [name, kind] of Object.entries(fields)) {
    const values = query.getAll(name);
    const first = values[0];
    if (first === undefined) continue;
    if (kind === 'texts') setKey(out, name, values);
    else if (kind === 'integers')
      setKey(
        out,
        name,
        values.map((value) => integerOf(value, 32)),
      );
    else if (kind === 'flag') setKey(out, name, flagOf(first));
    else setKey(out, name, kind === 'integer' ? integerOf(first, 64) : first);
  }
  return out;
}
