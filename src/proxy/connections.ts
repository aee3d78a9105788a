import type { Resource } from '../registry/resource.ts';
import type { RequestContext } from '../request/context.ts';
import { methodNotAllowed } from '../status/status.ts';
import { serveProxy } from './proxies.ts';
import { serveStream } from './streams.ts';

type Serve = (ctx: RequestContext, resource: Resource) => Promise<Response>;
interface Connection {
  methods: readonly string[];
  serve: Serve;
}

const proxy: Connection = {
  methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'],
  serve: serveProxy,
};
const stream = (name: 'exec' | 'attach' | 'portforward'): Connection => ({
  methods: ['GET', 'POST'],
  serve: (ctx, resource) => serveStream(ctx, resource, name),
});

/** What is answered whatever the verb, by `resource/subresource` of the core group. */
const connections: ReadonlyMap<string, Connection> = new Map([
  ['nodes/proxy', proxy],
  ['pods/proxy', proxy],
  ['services/proxy', proxy],
  ['pods/exec', stream('exec')],
  ['pods/attach', stream('attach')],
  ['pods/portforward', stream('portforward')],
]);

/** Who answers a request that connects to an object; undefined for any other. Throws 405. */
export function connectionOf({ info, request }: RequestContext, resource: Resource): Serve | undefined {
  const { parts, namespace } = info;
  const subresource = parts[2] ?? '';
  const found = resource.group === '' ? connections.get(`${resource.resource}/${subresource}`) : undefined;
  if (found === undefined || (namespace !== '') !== resource.namespaced) return undefined;
  if (parts.length > 3 && subresource !== 'proxy') return undefined;
  if (!found.methods.includes(request.method)) throw methodNotAllowed();
  return found.serve;
}
