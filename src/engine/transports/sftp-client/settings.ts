// The `sftp` section of a contact: whom we are at the partner's server, which host keys it may show, and where its
// folders are. A folder may contain `{application}`; it is replaced before any path leaves this node.

import type { SftpSettings } from '../../../contract/contact-settings.ts'
import { NodeError } from '../../../errors.ts'
import { checkFingerprint } from '../ssh/keys.ts'

/** What can be wrong before a single packet is sent. Returns the settings with clean fingerprints. */
export function checkSettings(settings: SftpSettings): SftpSettings {
  if (settings.username === '') throw new NodeError('bad_use', 'sftp.username is empty')
  if (settings.hostKeys.length === 0)
    throw new NodeError(
      'host_key_mismatch',
      'sftp.hostKeys is empty: no host key is trusted, so no call is made',
    )
  if (settings.password === undefined && settings.privateKey === undefined)
    throw new NodeError('bad_use', 'sftp needs a password or a private key')
  return { ...settings, hostKeys: settings.hostKeys.map(checkFingerprint) }
}

export function folderFor(
  written: string | undefined,
  setting: 'inbox' | 'outbox',
  application: string,
): string {
  if (written === undefined || written === '') throw new NodeError('bad_use', `sftp.${setting} is not set`)
  const folder = written.replaceAll('{application}', application)
  return folder.length > 1 ? folder.replace(/\/+$/, '') : folder
}

/** A name that is one path component and nothing else. */
export function isPlainName(name: string): boolean {
  // oxlint-disable-next-line no-control-regex
  return name !== '' && name !== '.' && name !== '..' && !/[/\u0000-\u001f\u007f]/.test(name)
}

export function inFolder(folder: string, name: string): string {
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}
