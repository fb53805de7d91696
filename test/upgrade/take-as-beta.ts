// For tests: the partner beta of a release's platform calls, and takes a file.

import ssh2 from 'ssh2'
import { BETA_PASSWORD } from './release-platform.ts'

/** The partner signs in with the password it always had. */
export function takeAsBeta(port: number, path: string): Promise<string> {
  const client = new ssh2.Client()
  return new Promise((resolve, reject) => {
    client.on('error', reject)
    client.on('ready', () =>
      client.sftp((refused, sftp) => {
        if (refused) return reject(refused)
        sftp.readFile(path, 'utf8', (failed, text) => {
          client.end()
          if (failed) reject(failed)
          else resolve(String(text))
        })
      }),
    )
    client.connect({ host: '127.0.0.1', port, username: 'beta', password: BETA_PASSWORD })
  })
}
