// Keys for the tests of CMS, made once per run, and the openssl command where it is installed.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readPartnerKey } from '../../src/engine/transforms/cms/keys.ts'
import { generateSelfSigned } from '../../src/engine/transforms/cms/self-signed.ts'

export type TestKey = { privateKeyPem: string; certificatePem: string; publicKeyPem: string }

export async function makeTestKey(commonName: string): Promise<TestKey> {
  const made = await generateSelfSigned({ commonName, bits: 2048, days: 30 })
  const { publicKey } = readPartnerKey(made.certificatePem)
  return { ...made, publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString() }
}

export const noOpenssl = spawnSync('openssl', ['version']).error ? 'openssl is not installed' : false

/** A folder with a key's files in it, in which openssl runs; gone after `remove`. */
export class OpensslFolder {
  readonly #folder = mkdtempSync(join(tmpdir(), 'esclusa-cms-'))

  constructor(key: TestKey) {
    this.write('key.pem', key.privateKeyPem)
    this.write('cert.pem', key.certificatePem)
  }

  write(name: string, content: string | Uint8Array): void {
    writeFileSync(join(this.#folder, name), content)
  }

  read(name: string): Buffer {
    return readFileSync(join(this.#folder, name))
  }

  openssl(args: string): void {
    const run = spawnSync('openssl', args.split(' '), { cwd: this.#folder })
    if (run.status !== 0) throw new Error(`openssl ${args}: ${run.stderr.toString()}`)
  }

  cms(args: string): void {
    this.openssl(`cms -binary ${args}`)
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true })
  }
}
