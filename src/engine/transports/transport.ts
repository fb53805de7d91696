// What the engine asks of a protocol, and what a protocol may ask of the engine.
//
// A transport knows bytes, partners and sessions. It knows neither the rules of channels nor the store. The engine decides
// what may move, makes every step durable and runs scripts. The transport carries files and says exactly how far it got.
// A session that this node opened and one that the partner opened look the same to the engine.
//
// Promises a transport makes:
// - every byte of a `WireFile` from the agreed position on is read once, in ascending order (the engine hashes there);
// - `push` resolves only when the partner has said that it holds the whole file under its real name;
// - whatever ends early rejects with a NodeError whose code tells whether trying again can help;
// - after `signal` aborts or `close()` resolves nothing is left open: no socket, timer, file handle or listener.

import type { Protection, SectionName } from '../../contract/contact-settings.ts'
import type { NodeError } from '../../errors.ts'
import type { EndPoints, FileKey } from './file-key.ts'
import type { SmallBatches } from './small-batches.ts'

export type { FileFlaw, PartnerAnswer } from './fault-causes.ts'
export type { EndPoints } from './file-key.ts'

/** How the bytes of a file are to be read as records. V: each record stands behind its 2-octet big-endian length. */
export type RecordFormat = { kind: 'U' | 'T'; recordLength: 0 } | { kind: 'F' | 'V'; recordLength: number }

export type Digest = Protection['digest']
export type HashedPart = 'octets' | 'records' // all of them, or what V records hold behind their lengths

/**
 * CMS layers that the bytes already wear when a transport gets them (and still wear when it hands them over). `digest`
 * is that of its signature.
 */
export type Envelope = { signed: boolean; compressed: boolean; encrypted: boolean } & Protection

/** What a transport can do. Each flag stands for itself: none is to be read as a name of a protocol. */
export type Capabilities = {
  /** Record boundaries travel outside the bytes. Otherwise a file is bytes alone. */
  records: boolean
  /** The partner is told which CMS layers the bytes wear. Otherwise only the channel's configuration says so. */
  envelopes: boolean
  /** A session carries one file after the other, and is lost for all of them when it is cut in the middle of one. */
  oneFileAtATime: boolean
  /** Files may wait here until the partner calls and takes them. */
  pickup: boolean
  /** Attempts may leave half files at the partner's end that only a session can remove. */
  leavesParts?: boolean
  /** The partner answers with an end-to-end receipt. */
  receipts: boolean
  /** The transport can tell the SHA-256 of what lies at the partner's end. */
  remoteHash: boolean
  /** There is no line between the two ends: files are put and taken at once, whatever the channel says of calls. */
  nobodyCalls?: true
  defaultPort: number | undefined // when the contact names none; undefined where there is no port
  defaultTlsPort?: number // that of encrypted sessions, where it is another one
}

/** Local bytes to send. Reads ascend from the agreed position; a short read before `size` means the file changed. */
export interface Source {
  readonly size: number
  readonly octets?: Uint8Array // all of them, where they are in memory; `read` gives the same
  read(into: Uint8Array, position: number): Promise<number>
}

/** One outgoing file, already in its wire form (translated, enveloped), on local disk. */
export interface WireFile {
  readonly transferId: string
  /** Same on every attempt and every retry of the same file: what lets a partner recognise a resumption. */
  readonly key: FileKey
  /** The application of the channel, or its alias: at most 8 characters on OFTP2. */
  readonly application: string
  /** Left out: the two ends of the session. */
  readonly ends?: EndPoints
  /** The real name, UTF-8, at most 255 octets, no path. */
  readonly name: string
  readonly source: Source
  readonly format: RecordFormat
  readonly envelope: Envelope | undefined
  /** Octets of the original file before translation and envelope; what OFTP2 calls the original size. */
  readonly originalSize: number
  /** Octets believed to be safe at the partner's end; the partner may know less, never more. */
  readonly restartFrom: number
  /** Ask for a signed receipt where the protocol has one. */
  readonly signedReceipt: boolean
  /** False: the channel wants no compression by the transport itself, whatever was agreed for the line. */
  readonly compress?: boolean
  /** The transport must learn the SHA-256 at the partner's end, where it can. */
  readonly verify: boolean
  /** An earlier attempt got as far as placing the file and its outcome is unknown: look before sending it again. */
  readonly mayBeThere: boolean
  /** Which attempt at the transfer this is: another number than any attempt before it that may still be under way. */
  readonly attempt?: number
  /** False: nobody has tried before, so there is nothing to look for. */
  readonly again?: boolean
}

/** The date of a key that has no date. Such a key stands for whatever the partner drops under that name. */
export const NAME_ALONE = '00000000'

/**
 * Where a partner drops files by name alone (SFTP), the name finds a half file to go on with. It does not tell whether a
 * file was received before: tomorrow's file may have the same name.
 */
export function namesOneFile(key: { date: string }): boolean {
  return key.date !== '' && key.date !== NAME_ALONE
}

export interface PushProgress {
  /** The hash that the partner's receipt is to show, told before the first read: its digest, and of what it is. */
  receiptDigest?(digest: Digest, part: HashedPart): void
  /** Octets handed over so far in this file, position included. May be called very often; never awaited. */
  moved(position: number): void
  /** Octets the partner is known to hold durably enough to resume from. The engine keeps it; awaited by nobody. */
  safe(position: number): void
  /**
   * To be awaited just before the file becomes visible under its real name. The engine notes it durably, so that after a
   * crash the next attempt looks first. Rejects when this node may no longer go on, or when `sha256` (hex, of the bytes
   * at the partner's end, if the transport knows it by now) is not that of what was sent.
   */
  placing(sha256?: string): Promise<void>
}

export interface PushResult {
  /** `awaited`: the receipt comes later, maybe in another session, by `SessionHost.receipt`. */
  receipt: 'none' | 'awaited'
  /** Lower-case hex SHA-256 of the bytes at the partner's end, where the transport could learn it. */
  remoteSha256: string | undefined
  /** An earlier attempt brought it, and what it brought was compared (`placing`) before it got its name. */
  found?: true
}

/** A file of which an attempt may have left something at the partner's end. */
export interface Leftover {
  readonly application: string
  readonly name: string
  readonly key: FileKey
}

export interface Session {
  readonly contactId: string
  readonly reach: Reach
  readonly encrypted: boolean
  /** Aborted when the session is over, with the reason. */
  readonly ended: AbortSignal
  /** True: it cannot give the partner the turn any more; whoever wants to fetch calls anew. */
  readonly spent?: boolean
  /** False: the partner's end of this session knows no compressed envelopes. */
  readonly unpacks?: boolean
  /** False: what is pushed may have to wait for as long as the partner likes. */
  readonly prompt?: boolean
  /** The shortest time that the partner has taken to answer in this session, the way there and back included. */
  readonly answerMs?: number | undefined
  readonly small?: SmallBatches | undefined // where many small files go faster by the dozen than one by one
  push(file: WireFile, progress: PushProgress, signal: AbortSignal): Promise<PushResult>
  /** The engine has recorded that the file arrived. What was kept to recognise it after a crash can go. Never rejects. */
  settled?(key: FileKey): Promise<void>
  /** As `Transport.discard`, where it needs a call: in the application's inbox. */
  discard?(application: string, find: () => Promise<readonly Leftover[]>): Promise<void>
  /** Lets the partner hand over what it has for us, each file through `SessionHost.offer`; resolves when it has no more. */
  fetch(signal: AbortSignal): Promise<void>
  /** Ends the session in the protocol's own polite way; cuts it if the partner does not answer in time. */
  close(): Promise<void>
}

export interface Timeouts {
  connectMs: number
  /** Greeting, identification, authentication. */
  syncMs: number
  /** Answer to a block, a file's end, a receipt's confirmation. */
  ackMs: number
  /** How long a kept session may idle. */
  idleMs: number
}

/** How the two ends prove themselves and how private the line must be; taken from the channel. */
export interface SessionSecurity {
  /** The line must be encrypted (TLS or SSH), else the session is refused. */
  encrypted: boolean
  authentication: 'NONE' | 'PASSWORD' | 'CERTIFICATE'
  localKey: string | undefined
  remoteKey: string | undefined
  /** PEM: our private key followed by its certificate. */
  rsaLocalKey: string | undefined
  /** PEM: the partner's certificate or public key. */
  rsaRemoteKey: string | undefined
}

/** A call to a partner. `settings` is the contact's own section (oftp2, sftp, folder) with secrets opened. */
export interface Call<Settings> {
  contactId: string
  host: string
  port: number
  /** Our identity towards the partner: the local entity's OFTP2 id. */
  localId: string
  remoteId: string
  settings: Settings
  /** Of the channels that would have opened this session, whatever their hours, as they are now: some may come while it is open. */
  applications: () => Promise<readonly string[]>
  reach: Reach
  ways: 'S' | 'R' | 'B'
  timeouts: Timeouts
  security: SessionSecurity
  /** Wire compression by the protocol itself. */
  compression: boolean
  signal: AbortSignal
}

/** What the engine must know of a protocol while nobody is on the line. Each transport provides its own. */
export interface Protocol {
  readonly protocol: string
  readonly capabilities: Capabilities
  /** The contact's section for calls that this node makes, and the one for calls that the partner makes. */
  readonly sections: { readonly calling: SectionName; readonly called: SectionName }
  /** What this contact calls itself when it calls. `settings` is the contact's section for its calls. */
  callerIds(contact: { settings: unknown; remoteCodes: readonly string[] }): readonly string[]
  /** How the protocol spells a file's name in keys and receipts. */
  keyName(name: string): string
  samePassword?(one: string, other: string): boolean // left out where only the same text is the same password
  /** How many at once with the partner; undefined: to be found by trying. Left out where one carries many files. */
  sessionsAllowed?(settings: unknown): number | undefined
  /** What the contact asks of certificates that callers show, where the protocol has such lines. */
  lineDemands?(settings: unknown): LineDemands | undefined
}

export interface Transport<Settings = unknown> extends Protocol {
  connect(call: Call<Settings>, host: SessionHost): Promise<Session>
  /**
   * Removes what attempts at files that nobody goes on with left at the partner's end, where that needs no call. `find`
   * is asked only if anything lies there.
   */
  discard?(settings: Settings, find: () => Promise<readonly FileKey[]>): Promise<void>
}

/** What a partner says of a file it wants to hand over. */
export interface Offer {
  contactId: string
  /** What the partner said the file belongs to (OFTP2: SFIDUSER; SFTP: the folder); '' when it said nothing. */
  application: string
  ends?: EndPoints // left out by protocols that name none
  name: string
  /** The name is temporary (see `Incoming.rename`), so it is no reason to refuse the file. */
  provisional?: boolean
  key: FileKey
  format: RecordFormat
  envelope: Envelope | undefined
  /** Octets announced; undefined when the protocol does not say, or says only an estimate. */
  size: number | undefined
  estimate?: number // where the size is not known: at least so many octets, as the partner says
  /** The name comes from a protocol field without lower case: groups of names are matched in any case. */
  anyCase?: boolean
  /** Octets of an earlier try that the partner is ready to skip. */
  restartFrom: number
  fetched?: true // this node takes it by itself: what it is at already is not begun a second time (`duplicate_file`)
  encryptedSession: boolean
  /** A signed receipt is asked for, with this hash of what was transmitted. Undefined: it must not be signed. */
  receiptDigest?: Digest | undefined
  reach: Reach // the channels that exist for the session it comes by
}

/** A file on its way in. Nothing is visible under its real name before `complete` resolves. */
export interface Incoming {
  /** Octets durably here from an earlier try of the same file, at most `Offer.restartFrom`; 0 otherwise. */
  readonly position: number
  /**
   * A file of this key is here, and nothing of it is needed. Where the key is no more than what was seen of a file (`fetched`)
   * it may be another one: it is removed at the partner's only after its octets were read and have this hash. If they have
   * another, or none is known, it is offered anew, with its own hash in its key.
   */
  readonly known?: { readonly sha256: string | undefined }
  /** Reads back what is already here; V restarts count records with it. */
  read(into: Uint8Array, position: number): Promise<number>
  /** Cuts what is here to `length` octets before writing goes on (a restart point in the middle of a record). */
  truncate(length: number): Promise<void>
  /** Resolves when the bytes are handed to the file: awaiting it is the back-pressure. Any order of positions. */
  write(chunk: Uint8Array, position: number): Promise<void>
  /** Gives it its final name. If an offer under that name would be refused, this throws the same and changes nothing. */
  rename(name: string): Promise<void>
  /**
   * The partner says that is all. Resolves when the file is in place and recorded, and not before: only then may
   * the protocol acknowledge. `sha256` (hex) is checked where the partner gave one.
   */
  complete(end: { size: number; sha256?: string }): Promise<void>
  /**
   * The partner broke off or broke the rules. With `keep` what is safe stays for a resumption, otherwise it is removed.
   * The reason must not be `cancelled`, except from the engine's own signal: that means a transfer that is over already.
   */
  abandon(reason: unknown, keep: boolean): Promise<void>
}

/**
 * What the other end of a session has shown of itself. Lives as long as the session and is never written anywhere. The
 * engine asks it for each channel; what is proven later (a challenge) counts from then on.
 */
export interface Proof {
  readonly address: string
  readonly encrypted: boolean
  /** What the contact's own entry asks of a caller was met; true where the protocol has no such entry. */
  readonly signedIn: boolean
  knows(password: string): boolean // whether the password that it gave is this one
  /** Whether it has proven to own the channel's certificate, or what stands for it in this protocol. */
  owns(rsaRemoteKey: string | undefined): boolean
  opens?(entry: unknown): boolean // whether what it signed in with opens the contact's entry as that is now
  /** Whether the certificate that it showed for the line is the partner's. Left out by protocols without such a thing. */
  shown?(pin: CertificatePin): 'fits' | 'other' | 'none'
}

/** CA certificates, the name that the caller's must carry, and whether there must be one. */
export type LineDemands = { ca?: string; servername?: string; clientCertificate?: 'asked' | 'required' }

/** What a caller's certificate must be: this one, or one that these have signed, for that name if there is one. */
export type CertificatePin = { certificate?: string; ca?: string; name?: string | undefined }

/** The channels that exist for one session: those whose demands it has met. Made and asked by the engine alone. */
export interface Reach {
  readonly contactId: string
  readonly openedBy: 'partner' | 'node'
  /** Why the channel is not there for this session, by what it asks now; undefined: it is there. */
  refusal(channel: { readonly code: string }): NodeError | undefined
  isWithdrawn?(contact: { readonly id: string }): boolean // whether the contact as it is now lets the caller in no more
}

/** Who a caller says it is, before the engine has looked it up. */
export interface Caller {
  protocol: string
  id: string // OFTP2 id or SFTP user name
  proof: Proof // what it has shown so far
  /** It is ready to prove that it owns its certificate. */
  challenges?: boolean
}

/** What the engine knows of an admitted caller: everything a responder needs to answer it. */
export interface Admission<Settings> {
  contactId: string
  localId: string
  remoteId: string
  settings: Settings
  reach: Reach
  /** Some channel of the partner asks for a password, whatever the session is made for. */
  guessable?: boolean
  ways: 'S' | 'R' | 'B'
  timeouts: Timeouts
  security: SessionSecurity
  compression: boolean
}

/** An end-to-end receipt (OFTP2: EERP, NERP). */
export interface Receipt {
  key: FileKey
  positive: boolean
  /** Reason in words, with the protocol's code for it, for a negative one. No control characters. */
  reason: string
  /** The protocol's own code for it; '' where the engine made the receipt. */
  reasonCode: string
  /** Hash of the transmitted bytes, hex, and whether a valid signature covers it. */
  hash: string | undefined
  signed: boolean
  /** Of a signed one: why that key does not prove it. The file's channel may have another key than the session. */
  signatureFault?: (partnerPem: string) => Promise<string | undefined>
  /** Identification codes as they travelled: who made the file, who received it. */
  originator: string
  destination: string
}

/** A receipt this node still has to send. */
export interface OwedReceipt extends Receipt {
  id: string
  /** PEM: the key of the file's channel, where it is to be signed and the channel has one. */
  signingKey?: string | undefined
}

export type Reached = { applications: readonly string[]; ways: 'S' | 'R' | 'B' }

/** What a transport may ask of the engine. Every rejection is a NodeError; its code picks the protocol's reason. */
export interface SessionHost {
  /** Looks a caller up and checks address, hours and calling end. Rejects with login_refused or remote_busy. */
  admit<Settings>(caller: Caller): Promise<Admission<Settings>>
  /** A try to sign in by what can be guessed; failed if `check` gives nothing. Past the doors' limits: too_many. */
  attempt<T>(caller: Caller, check: () => Promise<T | undefined>): Promise<T | undefined>
  /** Somebody has proven itself from that address before, at whichever door. */
  isKnown(address: string): boolean
  /** A session has shown a secret: its address is known from now on. */
  proven(contactId: string, address: string): Promise<void>
  /** The applications that exist for a session now, and which ways files may go in it. */
  reached(reach: Reach): Promise<Reached>
  /** A session that the partner opened is ready; the engine may push through it when `turn` is called. */
  opened(session: Session): void
  /** It is this node's turn to speak: the engine pushes what waits and resolves when nothing is left. */
  turn(session: Session): Promise<void>
  offer(offer: Offer): Promise<Incoming>
  /** A receipt came in: resolves when it is recorded, and not before it may be confirmed. */
  receipt(reach: Reach, receipt: Receipt): Promise<void>
  /** One after the other, to be delivered before the next is taken; those that another session has taken are left out. */
  receiptsOwed(reach: Reach): Promise<Iterable<OwedReceipt>>
  /** The partner has confirmed it, or its protocol level has no such receipt (`untold`): it is owed no longer. */
  receiptDelivered(id: string, untold?: 'untold'): Promise<void>
  /** A caller was turned away: kept in the history of the channels concerned, and in the log. */
  refused(caller: Caller, reason: string): Promise<void>
}

export interface Listener {
  readonly address: { host: string; port: number }
  close(): Promise<void>
}
