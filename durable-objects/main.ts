/** Entry of a process that holds replicas and no API. */
export { ReplicaGateway } from './gateway.ts';
export { Replica } from './replica.ts';

export default {
  /** Nothing is served here: replicas are reached through the gateway. */
  fetch(): Response {
    return new Response('not found', { status: 404 });
  },
} satisfies ExportedHandler;
