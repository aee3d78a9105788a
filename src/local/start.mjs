#!/usr/bin/env node
// The door of the project on a plain Node.js: installs and builds what is missing, then serves; what needs more than the
// oldest Node.js goes on in Node.js 24.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from './build.mjs';
import { install } from './install.mjs';

const OLDEST_NODE = 20;
const root = fileURLToPath(new URL('../..', import.meta.url));
const commands = new Set(['start', 'dev', 'check', 'test', 'conformance', 'e2e', 'egress', 'replicas', 'script']);

const major = Number(process.versions.node.split('.')[0]);
if (major < OLDEST_NODE) fail(`Node.js ${OLDEST_NODE} or newer is needed, this is ${process.version}.`);

const args = process.argv.slice(2);
const command = commands.has(args[0]) ? args.shift() : 'start';
const say = (line) => process.stderr.write(`${line}\n`);
let outputs;
try {
  await install(root, say);
  outputs = await build(root, say);
} catch (error) {
  fail(error.message);
}
const here = command === 'start' || major >= 24;
continueIn(here ? undefined : nodeBinary(), [outputs.local, command, ...args]);

function nodeBinary() {
  const binary = join(root, 'node_modules/node/bin/node');
  if (!existsSync(binary)) fail('The Node.js 24 binary is missing: remove node_modules and start again.');
  return binary;
}

/** Runs the bundled program here, or in a child that ends when this process does (its IPC channel closes). */
function continueIn(binary, argv) {
  if (binary === undefined) {
    process.argv = [process.argv[0], ...argv];
    return import(pathToFileURL(argv[0]).href);
  }
  const child = spawn(binary, argv, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    cwd: process.cwd(),
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`${binary}: ${error.message}`));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
    child.channel?.unref();
  });
  return child;
}

function fail(reason) {
  process.stderr.write(`gunwale: ${reason}\n`);
  process.exit(1);
}
