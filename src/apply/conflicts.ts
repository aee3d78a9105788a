import type { StatusCause, StatusError } from '../status/status.ts';
import { applyConflict } from '../status/status.ts';
import { eachPath, pathText } from './field-set.ts';
import type { Owner, Owners } from './managers.ts';
import type { Conflicts } from './ownership.ts';

/** The 409 of an apply that met other owners' fields. `owners` are those before the apply. */
export function conflictError(conflicts: Conflicts, owners: Owners): StatusError {
  const ids = [...conflicts.keys()].sort();
  const causes: StatusCause[] = [];
  const lines: string[] = [];
  for (const id of ids) {
    const owner = owners.get(id);
    if (owner === undefined) continue;
    const who = ownerText(owner);
    lines.push(`conflicts with ${who}:`);
    eachPath(conflicts.get(id) ?? {}, (path) => {
      const field = pathText(path);
      causes.push({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field });
      lines.push(`- ${field}`);
    });
  }
  const [first] = causes;
  return causes.length === 1
    ? applyConflict(`Apply failed with 1 conflict: ${first?.message}: ${first?.field}`, causes)
    : applyConflict(`Apply failed with ${causes.length} conflicts: ${lines.join('\n')}`, causes);
}

function ownerText(owner: Owner): string {
  const name = JSON.stringify(owner.manager);
  const who = owner.subresource === '' ? name : `${name} with subresource ${JSON.stringify(owner.subresource)}`;
  return owner.operation === 'Update' ? `${who} using ${owner.apiVersion}` : who;
}
