// A call that carries no files: signs in at the partner's server and sees whether it lets us list, write and remove in
// the folders that are to be used. The one file that it makes is empty, hidden and removed again.

import { randomUUID } from 'node:crypto'
import type { SftpSettings } from '../../../contract/contact-settings.ts'
import type { Call } from '../transport.ts'
import { OPEN, STATUS } from '../ssh/sftp-packet.ts'
import type { OfferedKey } from './line.ts'
import { refusal } from './remote.ts'
import type { Remote } from './remote.ts'
import { checkSettings, inFolder } from './settings.ts'
import { hangUp, openRemote } from './sftp-client.ts'

export type TriedCall = {
  /** What the server calls itself. */
  ident: string
  /** Rejects with what the server refuses there. */
  tryFolder(folder: string): Promise<void>
  close(): Promise<void>
}

export async function trySftp(
  call: Call<SftpSettings>,
  known: (key: OfferedKey) => void,
): Promise<TriedCall> {
  const { line, remote } = await openRemote({ ...call, settings: checkSettings(call.settings) }, known)
  return {
    ident: line.ident,
    tryFolder: (folder) => tryFolder(remote, folder, call.signal),
    close: () => hangUp(line, remote.requests, 2000),
  }
}

async function tryFolder(remote: Remote, folder: string, signal: AbortSignal): Promise<void> {
  const listing = await remote.openFolder(folder, signal)
  await remote.readFolder(listing, signal).finally(() => remote.closeLater(listing))
  const path = inFolder(folder, `.esclusa-test-${randomUUID()}.part`)
  const file = await remote.open(path, OPEN.WRITE | OPEN.CREAT | OPEN.EXCL, signal)
  await remote.close(file, signal).catch(async (thrown: unknown) => {
    await remote.remove(path)
    throw thrown
  })
  const removed = await remote.remove(path)
  if (removed.code !== STATUS.OK) throw refusal(removed, `remove ${path}`)
}
