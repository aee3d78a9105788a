/** What the runtime's module `cloudflare:workers` offers, as far as replicas use it. */
export class DurableObject {
  protected ctx: unknown;
  protected env: unknown;

  constructor(ctx: unknown, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}
