import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Api } from '../e2e/api.ts';
import { behaviours } from './behaviours.ts';
import { conversionBehaviours } from './conversions.ts';
import { play } from './play.ts';
import { startHooks } from './server.ts';

// Records what kube-apiserver does in the scenarios: node test/webhooks/record.ts KUBECONFIG [FILE]
const [kubeconfig, file = join(import.meta.dirname, 'expected.json')] = process.argv.slice(2);
const hooks = await startHooks({ ...behaviours, ...conversionBehaviours });
const findings: Record<string, unknown> = {};
const name = `webhooks-${process.pid}`;
const api = new Api(kubeconfig!);
const stage = { api, hooks, name, namespace: await api.namespace(name) };
for await (const [what, outcome] of play(stage)) findings[what] = outcome;
writeFileSync(file, `${JSON.stringify(findings, null, 1)}\n`);
hooks.close();
process.exit(0);
