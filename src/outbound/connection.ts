import * as v from 'valibot';

/** How a webhook of the configuration is reached: what a kubeconfig file says, with its files read. */
export const connectionSchema = v.object({
  server: v.pipe(v.string(), v.url()),
  /** PEM certificates that the peer's must chain to; empty: the public authorities. */
  authority: v.optional(v.string(), ''),
  insecure: v.optional(v.boolean(), false),
  serverName: v.optional(v.string(), ''),
  /** PEM certificate and key to show to the peer. */
  identity: v.exactOptional(v.object({ certificate: v.string(), key: v.string() })),
  /** Value of the Authorization header; empty: none. */
  authorization: v.optional(v.string(), ''),
});

export type Connection = v.InferOutput<typeof connectionSchema>;
