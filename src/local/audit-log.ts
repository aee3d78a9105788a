import { appendFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { Options } from './options.ts';

/** The open audit log. */
export interface AuditLog {
  close(): void;
}

type Where = Pick<Options, 'data' | 'auditLogPath' | 'auditLogMaxSize' | 'auditLogMaxBackup'>;

/** Takes audit events from the Worker on a unix socket and appends them to a file that rotates, or to standard output. */
export async function openAuditLog(where: Where, socket: string): Promise<AuditLog> {
  const path = where.auditLogPath ?? join(where.data, 'audit.log');
  const write = path === '-' ? (lines: Buffer) => void process.stdout.write(lines) : appender(path, where);
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      try {
        write(Buffer.concat(chunks));
        response.writeHead(204).end();
      } catch {
        response.writeHead(507).end();
      }
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  return {
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function appender(path: string, { auditLogMaxSize, auditLogMaxBackup }: Where): (lines: Buffer) => void {
  const limit = auditLogMaxSize << 20;
  let size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  return (lines) => {
    if (size > 0 && size + lines.length > limit) {
      rotate(path, auditLogMaxBackup);
      size = 0;
    }
    appendFileSync(path, lines, { mode: 0o600 });
    size += lines.length;
  };
}

/** `log` becomes `log.1`, `log.1` becomes `log.2` …; the one past the last goes. */
function rotate(path: string, backups: number): void {
  rmSync(`${path}.${backups}`, { force: true });
  for (let i = backups - 1; i >= 1; i--) if (existsSync(`${path}.${i}`)) renameSync(`${path}.${i}`, `${path}.${i + 1}`);
  if (backups === 0) rmSync(path);
  else renameSync(path, `${path}.1`);
}
