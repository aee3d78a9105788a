import type { JsonObject } from '../api/object.ts';

/** One entry of `details.causes`. */
export interface StatusCause extends JsonObject {
  reason?: string;
  message?: string;
  field?: string;
}

export interface StatusDetails extends JsonObject {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

/** metav1.Status of a failure. */
export interface Status extends JsonObject {
  kind: 'Status';
  apiVersion: 'v1';
  metadata: JsonObject;
  status: 'Failure';
  message: string;
  reason?: string;
  details?: StatusDetails;
  code: number;
}

/** A failure that a client may see. Thrown anywhere in the pipeline; `src/status/answer.ts` turns it into a response. */
export class StatusError extends Error {
  readonly status: Status;
  /** Extra response headers, for example Retry-After. */
  readonly headers: Record<string, string>;
  constructor(status: Status, headers: Record<string, string> = {}) {
    super(status.message);
    this.status = status;
    this.headers = headers;
  }
}

/** Group and resource (or kind) that an error speaks of. */
export interface Subject {
  group: string;
  /** Plural resource name, or a kind where upstream names the kind. */
  name: string;
}

const make = (
  code: number,
  reason: string | undefined,
  message: string,
  details?: StatusDetails,
  headers?: Record<string, string>,
) =>
  new StatusError(
    {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason === undefined ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    },
    headers,
  );

const qualified = (s: Subject) => (s.group === '' ? s.name : `${s.name}.${s.group}`);
const about = (s: Subject, name: string, more: Partial<StatusDetails> = {}): StatusDetails => ({
  ...(name === '' ? {} : { name }),
  ...(s.group === '' ? {} : { group: s.group }),
  ...(s.name === '' ? {} : { kind: s.name }),
  ...more,
});

export const badRequest = (message: string) => make(400, 'BadRequest', message);
export const unauthorized = () => make(401, 'Unauthorized', 'Unauthorized');
/** `why` follows "is forbidden: "; `name` may be empty, and so may the subject's (a path that is no resource). */
export const forbidden = (s: Subject, name: string, why: string, causes?: StatusCause[]) =>
  make(
    403,
    'Forbidden',
    s.name === ''
      ? `forbidden: ${why}`
      : name === ''
        ? `${qualified(s)} is forbidden: ${why}`
        : `${qualified(s)} "${name}" is forbidden: ${why}`,
    about(s, name, causes ? { causes } : {}),
  );
export const notFound = (s: Subject, name: string) =>
  make(404, 'NotFound', `${qualified(s)} "${name}" not found`, about(s, name));
/** An unknown path below a served group: a Status without a subject. */
export const noSuchResource = () => make(404, 'NotFound', 'the server could not find the requested resource', {});
export const methodNotAllowed = () =>
  make(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
export const notAcceptable = (available: string[]) =>
  make(406, 'NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`, {});
/** 406 of content negotiation proper, behind the routing table's {@link notAcceptable}. */
export const noAcceptedRepresentation = (accepted: readonly string[]) =>
  make(406, 'NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);
/** 406 of an answer that has no such form as was asked for; `message` is whole. */
export const notConvertible = (message: string) => make(406, 'NotAcceptable', message);
export const alreadyExists = (s: Subject, name: string) =>
  make(409, 'AlreadyExists', `${qualified(s)} "${name}" already exists`, about(s, name));
export const conflict = (s: Subject, name: string, why: string, causes?: StatusCause[]) =>
  make(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(s)} "${name}": ${why}`,
    about(s, name, causes ? { causes } : {}),
  );
/** A server-side apply that met other managers' fields; `message` is whole. */
export const applyConflict = (message: string, causes: StatusCause[]) => make(409, 'Conflict', message, { causes });
/** The revision asked for is compacted, or a continue token is too old. */
export const expired = (message: string) => make(410, 'Expired', message);
export const gone = (message: string) => make(410, 'Gone', message);
export const requestEntityTooLarge = (message: string) => make(413, 'RequestEntityTooLarge', message, {});
export const unsupportedMediaType = (message: string) => make(415, 'UnsupportedMediaType', message, {});
/** 415 of a body in no accepted format. */
export const unknownBodyFormat = (accepted: string[]) =>
  make(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
/** 422: `kind` is the kind's name; the message joins the causes as upstream does. */
export const invalid = (kind: Subject, name: string, causes: StatusCause[]) => {
  const all = causes.map((c) =>
    c.field === undefined || c.field === '' ? `${c.message}` : `${c.field}: ${c.message}`,
  );
  const lines = [...new Set(all)];
  const text = lines.length === 1 ? lines[0] : `[${lines.join(', ')}]`;
  return make(422, 'Invalid', `${qualified(kind)} "${name}" is invalid: ${text}`, about(kind, name, { causes }));
};
/** 422 with a message of its own and no subject, as JSON patch failures have. */
export const unprocessable = (message: string) => make(422, 'Invalid', message, {});
export const tooManyRequests = (message: string, retryAfterSeconds: number, causes?: StatusCause[]) =>
  make(
    429,
    'TooManyRequests',
    message,
    { ...(causes ? { causes } : {}), ...(retryAfterSeconds ? { retryAfterSeconds } : {}) },
    retryAfterSeconds ? { 'Retry-After': String(retryAfterSeconds) } : {},
  );
export const internalError = (message: string, causes: StatusCause[] = [{ message }]) =>
  make(500, 'InternalError', `Internal error occurred: ${message}`, { causes });
/** 500 that carries only a message, as upstream gives for errors that it has no reason for. */
export const plainError = (message: string) => make(500, undefined, message);
/** What a client is told of the status of a server behind this one (client-go's generic server response). */
const SERVER_RESPONSES: Readonly<Record<number, [reason: string, message: string]>> = {
  401: ['Unauthorized', 'the server has asked for the client to provide credentials'],
  404: ['NotFound', 'the server could not find the requested resource'],
  405: ['MethodNotAllowed', 'the server does not allow this method on the requested resource'],
  409: ['Conflict', 'the server reported a conflict'],
  422: ['Invalid', 'the server rejected our request due to an error in our request'],
  429: ['TooManyRequests', 'the server has received too many requests and has asked us to try again later'],
  503: ['ServiceUnavailable', 'the server is currently unable to handle the request'],
  504: [
    'Timeout',
    'the server was unable to return a response in the time allotted, but may still be processing the request',
  ],
};

/** A refusal of a server behind this one that is none of this one's own; `body` is what it said. */
export function serverResponse(code: number, s: Subject, name: string, body: string): StatusError {
  const other: [string | undefined, string] =
    code === 403
      ? ['Forbidden', body]
      : code >= 500
        ? [
            'InternalError',
            `an error on the server (${JSON.stringify(body)}) has prevented the request from succeeding`,
          ]
        : [undefined, `the server responded with the status code ${code} but did not return more information`];
  const [reason, message] = SERVER_RESPONSES[code] ?? other;
  return make(code, reason, `${message} ( ${qualified(s)} ${name})`, about(s, name));
}

export const serviceUnavailable = (message: string) => make(503, 'ServiceUnavailable', message);
/** 504 whose outcome is unknown; never with Retry-After, which clients take as leave to repeat. */
export const timeout = (message: string) => make(504, 'Timeout', `Timeout: ${message}`, {});
/** 504 for a resourceVersion from the future, in the shape that client-go looks for. */
export const resourceVersionTooLarge = (requested: number, current: number) =>
  make(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${requested}, current: ${current}`,
    { causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }], retryAfterSeconds: 1 },
    { 'Retry-After': '1' },
  );

/** Constructors of field causes (field.Error upstream). `value` is shown as upstream formats it: JSON. */
export const causes = {
  required: (field: string, detail = ''): StatusCause => ({
    reason: 'FieldValueRequired',
    message: detail === '' ? 'Required value' : `Required value: ${detail}`,
    field,
  }),
  invalid: (field: string, value: unknown, detail: string): StatusCause => ({
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${show(value)}: ${detail}`,
    field,
  }),
  internal: (field: string, detail: string): StatusCause => ({
    reason: 'InternalError',
    message: `Internal error: ${detail}`,
    field,
  }),
  typeInvalid: (field: string, value: unknown, detail: string): StatusCause => ({
    reason: 'FieldValueTypeInvalid',
    message: `Invalid value: ${show(value)}: ${detail}`,
    field,
  }),
  /** The supported values are listed as they are given: upstream sorts only those that it keeps in sets. */
  notSupported: (field: string, value: unknown, supported: readonly string[]): StatusCause => ({
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${show(value)}: supported values: ${supported.map((s) => JSON.stringify(s)).join(', ')}`,
    field,
  }),
  duplicate: (field: string, value: unknown): StatusCause => ({
    reason: 'FieldValueDuplicate',
    message: `Duplicate value: ${show(value)}`,
    field,
  }),
  forbidden: (field: string, detail: string): StatusCause => ({
    reason: 'FieldValueForbidden',
    message: `Forbidden: ${detail}`,
    field,
  }),
  notFound: (field: string, value: unknown): StatusCause => ({
    reason: 'FieldValueNotFound',
    message: `Not found: ${show(value)}`,
    field,
  }),
  tooLong: (field: string, max: number): StatusCause => ({
    reason: 'FieldValueTooLong',
    message: `Too long: may not be more than ${max} bytes`,
    field,
  }),
  tooMany: (field: string, actual: number, max: number): StatusCause => ({
    reason: 'FieldValueTooMany',
    message: `Too many: ${actual}: must have at most ${max} item${max === 1 ? '' : 's'}`,
    field,
  }),
};

const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** A string as Go's %q writes it. */
function quote(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped
  const escaped = text.replace(/["\\\u0000-\u001f\u007f]/g, (c) => {
    if (c === '"' || c === '\\') return `\\${c}`;
    return ESCAPES[c] ?? `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`;
  });
  return `"${escaped}"`;
}

function show(value: unknown): string {
  if (value === undefined) return 'null';
  if (typeof value === 'string') return quote(value);
  return JSON.stringify(value, (_, v: unknown) => (typeof v === 'bigint' ? Number(v) : v));
}
