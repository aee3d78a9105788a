// Lets plain Node.js load the Durable Object: the runtime's own module, SQL as text, and the driver under observation.
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

const local = (file: string) => new URL(file, import.meta.url).href;

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === 'cloudflare:workers') return { url: local('./cloudflare-workers.ts'), shortCircuit: true };
    const resolved = next(specifier, context);
    const driver = resolved.url.endsWith('/durable-objects/replica/driver.ts');
    if (!driver || context.parentURL?.endsWith('/observed-driver.ts')) return resolved;
    return { url: local('./observed-driver.ts'), shortCircuit: true };
  },
  load(url, context, next) {
    if (!url.endsWith('.sql')) return next(url, context);
    const text = JSON.stringify(readFileSync(fileURLToPath(url), 'utf8'));
    return { format: 'module', source: `export default ${text};`, shortCircuit: true };
  },
});
