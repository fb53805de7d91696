// What users would take instead of a node: scp, sftp, rclone and cp, each run to its end. `sync` and `sha256sum` are
// what a careful user adds, and what a node always does.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { commandExists } from '../../test/support/sftp/openssh.ts'
import type { OpenSsh } from '../../test/support/sftp/openssh.ts'

const CIPHER = 'aes128-gcm@openssh.com'

export const hasRclone = commandExists('rclone')

export async function shell(command: string): Promise<void> {
  await promisify(execFile)('sh', ['-c', command], { maxBuffer: 64 * 2 ** 20 })
}

export function toolsFor(sshd: OpenSsh, port: number, from: string, to: string) {
  const options = [
    'BatchMode=yes',
    'StrictHostKeyChecking=no',
    'UserKnownHostsFile=/dev/null',
    'LogLevel=ERROR',
  ]
    .map((one) => `-o ${one}`)
    .join(' ')
  const ssh = `-q -P ${port} -i ${sshd.userKey.path} -c ${CIPHER} -F /dev/null ${options}`
  const remote = `:sftp,host=127.0.0.1,port=${port},user=${sshd.username},key_file=${sshd.userKey.path},ciphers=${CIPHER},shell_type=none,disable_hashcheck=true,set_modtime=false:`
  const hash = (folder: string) =>
    shell(`cd ${folder} && find . -type f -print0 | xargs -0 sha256sum > /dev/null`)
  return {
    scp: () => shell(`scp ${ssh} -r ${from}/. ${sshd.username}@127.0.0.1:${to}`),
    sftp: () =>
      shell(`echo 'put -r ${from}/. ${to}' | sftp ${ssh} -b - ${sshd.username}@127.0.0.1 > /dev/null`),
    rclone: () => shell(`rclone copy ${from} '${remote}${to}' --config /dev/null --retries 1 -q`),
    cp: () => shell(`cp -r ${from}/. ${to}/`),
    sync: () => shell(`sync -f ${to}`),
    hashBoth: async () => {
      await hash(from)
      await hash(to)
    },
    hashOne: () => hash(to),
  }
}
