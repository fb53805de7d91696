// What the handlers of operations work with. `main` builds it once. There are no globals.

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Limiter } from '../accounts/limiter.ts'
import type { Tokens } from '../accounts/token.ts'
import type { AuditTrail } from '../audit/trail.ts'
import type { ConnectionTest } from '../contract/administration/connection-test.ts'
import type { BodyOf, InputOf, OperationName, OutputOf } from '../contract/operations.ts'
import type { Roots } from '../domain/channel-rules.ts'
import type { Zone } from '../domain/time.ts'
import type { Account } from '../store/accounts.ts'
import type { ChannelAccess } from '../store/channel-access.ts'
import type { ContactRecord } from '../store/contacts.ts'
import type { Store } from '../store/database/store.ts'
import type { Seal } from '../store/seal.ts'
import type { NoteUse } from './note-use.ts'

export type Context = {
  store: Store
  seal: Seal
  tokens: Tokens
  limiter: Limiter
  /** A token for a system was used. */
  tokenUsed: NoteUse
  /** A console's session was used. */
  sessionSeen: NoteUse
  audit: AuditTrail
  channelAccess: ChannelAccess
  /** Makes an RSA key and a self-signed certificate, as PEM. */
  generateKey: GenerateKey
  /** What a call to the partner would meet. */
  testContact: TestContact
  zone: Zone
  roots: Roots
  maxPageSize: number
  uploads: UploadSettings
  dataDir: string
  now: () => number
  /** Tells the engines, here and on other nodes, that there is something new. Call it after the commit. */
  wake: (what: Wake) => void
}

export type GenerateKey = (wanted: {
  commonName: string
  bits?: number | undefined
  days?: number | undefined
}) => Promise<{ privateKeyPem: string; certificatePem: string }>

export type TestContact = (contact: ContactRecord) => Promise<ConnectionTest>

export type UploadSettings = {
  /** Octets of one file. */
  mostOctets: number
  /** What may lie in an outbound directory with it, where the contact names no quota. */
  quotaOctets: number
  quotaFiles: number
  diskReserveOctets: number
}

export type Wake =
  | { kind: 'due' }
  | { kind: 'cancelled'; transferId: string }
  | { kind: 'configuration'; channelCode: string }

/** One call of an operation, its input already checked against the contract. */
export type Call<N extends OperationName> = {
  input: InputOf<N>
  body: BodyOf<N>
  user: Account
  request: FastifyRequest
  reply: FastifyReply
}

/**
 * An answer whose JSON exists already: channels and finished transfers are serialised once and kept. It is text, because
 * Node then writes head and body at once. That costs a third less than a head followed by bytes.
 */
export class Written {
  readonly json: string
  constructor(json: string) {
    this.json = json
  }
}

export type Handler<N extends OperationName> = (
  context: Context,
  call: Call<N>,
) => Promise<OutputOf<N> | Written>
