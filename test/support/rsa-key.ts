// One RSA key for all tests that need any: making one takes a fifth of a second, and nearly every test file would. One of
// the size that a node makes for its listeners takes a second and a half.

import { createPrivateKey, createPublicKey } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export const RSA_PRIVATE_KEY = readFileSync(new URL('../fixtures/rsa-key.pem', import.meta.url), 'utf8')
export const RSA_PUBLIC_KEY = createPublicKey(RSA_PRIVATE_KEY)
  .export({ type: 'spki', format: 'pem' })
  .toString()

/** What a node would make at its first start, for the listeners that it is told to have. */
export async function putListenerKeys(dataDir: string, settings: Record<string, string>): Promise<void> {
  const made: Record<string, string> = {}
  if (settings.ESCLUSA_SFTP_PORT)
    made['sftp-host-key.pem'] = createPrivateKey(RSA_PRIVATE_KEY)
      .export({ type: 'pkcs1', format: 'pem' })
      .toString()
  if (settings.ESCLUSA_OFTP2_TLS_PORT)
    made['oftp2-tls.pem'] =
      RSA_PRIVATE_KEY + readFileSync(new URL('../fixtures/rsa-certificate.pem', import.meta.url), 'utf8')
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  for (const [name, text] of Object.entries(made))
    if (!existsSync(join(dataDir, name))) await writeFile(join(dataDir, name), text, { mode: 0o600 })
}
