import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openAuditLog } from '../../src/local/audit-log.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gunwale-audit-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function post(socketPath: string, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, method: 'POST', path: '/' }, (response) => resolve(response.statusCode));
    sent.on('error', reject);
    sent.end(body);
  });
}

it('appends events, rotates at the size, and keeps so many old logs', async () => {
  const socket = join(folder, 'audit.sock');
  const where = { data: folder, auditLogPath: undefined, auditLogMaxSize: 1, auditLogMaxBackup: 2 };
  const log = await openAuditLog(where, socket);
  const large = `${'x'.repeat(700_000)}\n`;
  for (let i = 0; i < 5; i++) expect(await post(socket, `${i}${large}`)).toBe(204);
  log.close();
  const first = (name: string) => readFileSync(join(folder, name), 'utf8')[0];
  expect(['audit.log', 'audit.log.1', 'audit.log.2'].map(first)).toEqual(['4', '3', '2']);
  expect(() => first('audit.log.3')).toThrow('ENOENT');
});
