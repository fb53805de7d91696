// Keys that somebody brought: set on a channel by its configuration, by the platform file or in the console. Each is an
// entry of the audit trail of its own, beside that of the channel's change, so that whoever asks for keys finds them all.

import type { AuditNote } from '../audit/trail.ts'
import { publicPartOf } from './key-facts.ts'

const SIDES = { rsaLocalKey: 'LOCAL', rsaRemoteKey: 'REMOTE' } as const

/** A channel with its keys opened, or sealed alike before and after where they did not change. */
export type Keyed = { security?: { rsaLocalKey?: string; rsaRemoteKey?: string } }

export function uploadedKeys(code: string, before: Keyed | undefined, after: Keyed | undefined): AuditNote[] {
  return (['rsaLocalKey', 'rsaRemoteKey'] as const).flatMap((field) => {
    const pem = after?.security?.[field]
    if (pem === undefined || pem === before?.security?.[field]) return []
    const fingerprint = publicPartOf(pem)?.fingerprint
    return {
      action: 'KEY_UPLOADED' as const,
      subject: { kind: 'channel' as const, name: code },
      channelCode: code,
      facts: { side: SIDES[field], ...(fingerprint !== undefined && { fingerprint }) },
    }
  })
}
