// The listener's work: files and receipts that the partner sends. The engine decides about each of them. This end takes
// the data, gives credit when it has room again, and confirms only what the engine has made durable.
import { NodeError } from '../../../errors.ts'
import type { Incoming, SessionHost } from '../transport.ts'
import type { Command, CommandOf } from './protocol/commands.ts'
import type { Conversation } from './conversation.ts'
import { Credit } from './protocol/credit.ts'
import { DataDecoder } from './data/decode.ts'
import { endsSession, fault, fileFault, fileReasonOf, offerReasonOf } from './protocol/reasons.ts'
import { readReceipt } from './receipts.ts'
import type { WireShape } from './restart.ts'
import { restartPoint } from './restart.ts'
import type { SessionCrypto } from './settings.ts'
import type { OfferedFile } from './start-file.ts'
import { readStartFile } from './start-file.ts'
import type { Workspace, WorkspacePool } from './data/workspace.ts'

type OpenFile = {
  incoming: Incoming
  shape: WireShape
  decoder: DataDecoder
  workspace: Workspace
  credit: Credit
  /** Data that is still being taken, and credit that is still to be given for it. */
  taking: Promise<void>
}

export class ListenerRole {
  readonly #conversation: Conversation
  readonly #host: SessionHost
  readonly #crypto: SessionCrypto
  readonly #pool: WorkspacePool
  readonly #encrypted: boolean
  /** Whether this end has something to say and would like the turn. */
  readonly #wantsTurn: () => boolean
  #file: OpenFile | undefined

  constructor(
    conversation: Conversation,
    options: {
      host: SessionHost
      crypto: SessionCrypto
      pool: WorkspacePool
      encrypted: boolean
      wantsTurn: () => boolean
    },
  ) {
    this.#conversation = conversation
    this.#host = options.host
    this.#crypto = options.crypto
    this.#pool = options.pool
    this.#encrypted = options.encrypted
    this.#wantsTurn = options.wantsTurn
  }

  offer(command: Command): void {
    if (command.kind !== 'SFID') return
    const { canReceive, restart } = this.#conversation.agreed
    if (!canReceive) throw fault('02', 'a file, though this end only sends')
    if (command.restart > 0n && !restart) throw fault('02', 'a restart, though none was agreed')
    this.#conversation.background(this.#open(command))
  }

  async #open(sfid: CommandOf<'SFID'>): Promise<void> {
    const conversation = this.#conversation
    let file: { offered: OfferedFile; incoming: Incoming }
    try {
      const offered = readStartFile(sfid, conversation.known, this.#encrypted)
      file = { offered, incoming: await this.#host.offer(offered.offer) }
    } catch (error) {
      if (conversation.isOver) return
      const { reason, retry, text } = offerReasonOf(error)
      conversation.say({ kind: 'SFNA', reason, retry: retry ? 'Y' : 'N', text })
      return
    }
    const { offered, incoming } = file
    try {
      await this.#begin(offered, incoming)
    } catch (error) {
      await incoming.abandon(error, true)
      throw error
    }
  }

  async #begin({ shape, units }: OfferedFile, incoming: Incoming): Promise<void> {
    const conversation = this.#conversation
    const read = (into: Uint8Array, position: number) => incoming.read(into, position)
    const point = await restartPoint(shape, incoming.position, units, read)
    if (point.octets !== incoming.position) await incoming.truncate(point.octets)
    if (conversation.isOver) throw conversation.over
    const workspace = this.#pool.borrow()
    const start = { position: point.octets, records: shape.kind === 'stream' ? 0 : point.units }
    const decoder = new DataDecoder(workspace, shape, start, (chunk, position) =>
      incoming.write(chunk, position),
    )
    const credit = new Credit()
    credit.renew(conversation.agreed.credit)
    this.#file = { incoming, shape, decoder, workspace, credit, taking: Promise.resolve() }
    const { kernel, gather } = workspace
    conversation.link.buffers.allocate = (length) =>
      kernel.memory.subarray(gather.start, gather.start + length)
    conversation.say({ kind: 'SFPA', position: BigInt(point.units) })
  }

  data(exchange: Uint8Array): void {
    const file = this.#file
    const conversation = this.#conversation
    if (file === undefined) throw new NodeError('internal', 'data without a file')
    if (exchange.length > conversation.agreed.bufferSize)
      throw fault('07', `an exchange buffer of ${exchange.length} octets`)
    if (!file.credit.spend(1)) throw fault('02', 'data beyond the credit')
    const waiting = file.decoder.feed(exchange)
    if (file.credit.left === 0) {
      // The line is not held here, so that data beyond the credit, which breaks the protocol, is seen at once.
      file.taking = this.#giveCredit(file, waiting)
      conversation.background(file.taking)
    } else if (waiting !== undefined) {
      file.taking = waiting
      conversation.link.hold()
      conversation.background(waiting.then(() => conversation.link.release()))
    }
  }

  async #giveCredit(file: OpenFile, waiting: Promise<void> | undefined): Promise<void> {
    await waiting
    await file.decoder.pass()
    if (this.#conversation.state !== 'OPI' || this.#file !== file) return
    file.credit.renew(this.#conversation.agreed.credit)
    this.#conversation.say({ kind: 'CDT' })
  }

  endFile(command: Command): void {
    const file = this.#file
    if (command.kind !== 'EFID' || file === undefined)
      throw new NodeError('internal', 'an end without a file')
    this.#conversation.background(this.#close(file, command))
  }

  async #close(file: OpenFile, efid: CommandOf<'EFID'>): Promise<void> {
    const conversation = this.#conversation
    await file.taking
    await file.decoder.endOfFile()
    await file.decoder.flush()
    if (this.#file !== file) return
    this.#release(file)
    const trouble = troubleOf(file, efid)
    try {
      if (trouble !== undefined) {
        await file.incoming.abandon(trouble, false)
        throw trouble
      }
      await file.incoming.complete({ size: file.decoder.size })
    } catch (error) {
      if (conversation.isOver) return
      if (endsSession(error)) throw error
      const { reason, text } = fileReasonOf(error)
      conversation.say({ kind: 'EFNA', reason, text })
      return
    }
    if (conversation.isOver) return
    const asks = this.#wantsTurn()
    conversation.say({ kind: 'EFPA', changeDirection: asks ? 'Y' : 'N' }, asks ? 'EFPA_CD' : 'EFPA')
  }

  receipt(command: Command): void {
    if (command.kind === 'EERP' || command.kind === 'NERP')
      this.#conversation.background(this.#record(command))
  }

  async #record(command: CommandOf<'EERP'> | CommandOf<'NERP'>): Promise<void> {
    const party = this.#conversation.known
    try {
      await this.#host.receipt(party.reach, await readReceipt(command, party, this.#crypto))
    } catch (error) {
      // A receipt for an unknown file can never be recorded. It is confirmed all the same.
      if (!(error instanceof NodeError) || error.code !== 'not_found') throw error
    }
    if (!this.#conversation.isOver) this.#conversation.say({ kind: 'RTR' })
  }

  /** The session is over. What came of the current file is kept for a resumption, unless the file was at fault. */
  lost(error: NodeError): void {
    const file = this.#file
    if (file === undefined) return
    this.#file = undefined
    this.#conversation.link.buffers.allocate = (length) => new Uint8Array(length)
    this.#conversation.background(this.#abandon(file, error))
  }

  async #abandon(file: OpenFile, error: NodeError): Promise<void> {
    const { decoder } = file
    const keep = error.code !== 'protocol_violation' && decoder.trouble === undefined && !decoder.isAltered
    await file.taking.catch(() => undefined)
    if (keep) await file.decoder.flush().catch(() => undefined)
    await file.decoder.settle()
    this.#pool.giveBack(file.workspace)
    await file.incoming.abandon(error, keep)
  }

  #release(file: OpenFile): void {
    this.#file = undefined
    this.#conversation.link.buffers.allocate = (length) => new Uint8Array(length)
    this.#pool.giveBack(file.workspace)
  }
}

/** Why a file that came whole is not to be accepted. */
function troubleOf({ decoder, shape }: OpenFile, efid: CommandOf<'EFID'>): NodeError | undefined {
  if (decoder.trouble !== undefined) return decoder.trouble
  const { size, records } = decoder
  if (decoder.inRecord) return fileFault('05', 'the last record has no end')
  if (shape.kind !== 'stream' && efid.records !== BigInt(records))
    return fileFault('10', `${records} records came, ${efid.records} were sent`)
  const octets = shape.kind === 'variable' ? size - 2 * records : decoder.transmitted
  if (efid.octets !== BigInt(octets))
    return fileFault('11', `${octets} octets came, ${efid.octets} were sent`)
  return undefined
}
