const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/** What is wrong with a qualified name (label and annotation keys, finalizers), in upstream's wording; empty when valid. */
export function qualifiedNameErrors(name: string): string[] {
  const errors: string[] = [];
  const parts = name.split('/');
  let local = parts[0] ?? '';
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    local = parts[1] ?? '';
    if (prefix === '') errors.push('prefix part must be non-empty');
    else {
      if (prefix.length > 253) errors.push('prefix part must be no more than 253 bytes');
      if (!SUBDOMAIN.test(prefix)) errors.push(`prefix part ${SUBDOMAIN_RULE}`);
    }
  } else if (parts.length > 2) {
    return [`a valid label key ${NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`];
  }
  if (local === '') errors.push('name part must be non-empty');
  else if (local.length > 63) errors.push('name part must be no more than 63 bytes');
  if (!NAME.test(local)) errors.push(`name part ${NAME_RULE}`);
  return errors;
}

/** What is wrong with a label value, in upstream's wording; empty when valid. */
export function labelValueErrors(value: string): string[] {
  const errors: string[] = [];
  if (value.length > 63) errors.push('must be no more than 63 bytes');
  if (!VALUE.test(value))
    errors.push(
      "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
    );
  return errors;
}
