import { defineConfig } from 'vitest/config';

// Run by `npm run e2e` and `npm test`, which start the cluster that KUBECONFIG names.
export default defineConfig({
  test: { include: ['test/e2e/**/*.e2e.ts'], fileParallelism: false, testTimeout: 60_000, hookTimeout: 60_000 },
});
