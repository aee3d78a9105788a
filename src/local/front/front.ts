import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { createServer, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { http1Server } from './http1.ts';
import { Http2Connection } from './http2-connection.ts';
import { clientLines } from './request-head.ts';
import { type UpstreamAddress, UpstreamPool } from './upstream.ts';

/** The running front. */
export interface Front {
  port: number;
  /** Ends every connection at once and listens no more. */
  close(): void;
}

export interface FrontOptions {
  /** 0 takes any free port. */
  port: number;
  host: string;
  /** PEM certificate chain and key. */
  tls: { cert: string; key: string };
  /** The Worker's socket. */
  upstream: UpstreamAddress;
  /** Header in which the Worker's runtime expects `request.cf`. */
  cfBlobHeader: string;
}

/**
 * Ends TLS and passes every request on to the Worker, HTTP/2 and HTTP/1.1 by ALPN. A client certificate is asked for
 * and handed on unverified (RFC 9440 form): the Worker verifies it. Rejects when the port cannot be opened.
 */
export function startFront({ port, host, tls, upstream, cfBlobHeader }: FrontOptions): Promise<Front> {
  const pool = new UpstreamPool(upstream);
  const lines = new WeakMap<Duplex, string>();
  const http1 = http1Server(pool, (socket) => lines.get(socket) ?? '');
  const sockets = new Set<TLSSocket>();
  const server = createServer({
    ...tls,
    requestCert: true,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2', 'http/1.1'],
    noDelay: true,
  });

  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const text = clientLines(cfBlobHeader, certificatesOf(socket), socket.remoteAddress ?? '');
    if (socket.alpnProtocol === 'h2') {
      new Http2Connection(socket, pool, text);
      return;
    }
    lines.set(socket, text);
    socket.on('end', () => socket.destroy());
    http1.emit('connection', socket);
  });
  return new Promise((resolve, reject) => {
    server.on('error', reject);
    server.listen(port, host, () => {
      const close = () => {
        server.close();
        for (const socket of sockets) socket.destroy();
        pool.close();
      };
      resolve({ port: (server.address() as AddressInfo).port, close });
    });
  });
}

/** The client's certificate and the authorities that it sent with it, each the issuer of the one before, no root (DER). */
function certificatesOf(socket: TLSSocket): Buffer[] {
  const found: Buffer[] = [];
  let next: DetailedPeerCertificate | undefined = socket.getPeerCertificate(true);
  while (next?.raw !== undefined) {
    const issuer: DetailedPeerCertificate | undefined = next.issuerCertificate;
    const isRoot: boolean = issuer?.raw?.equals(next.raw) === true;
    if (!isRoot || found.length === 0) found.push(next.raw);
    next = isRoot ? undefined : issuer;
  }
  return found;
}
