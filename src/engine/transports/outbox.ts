// What the engine shows a partner who calls to take its files, and what it is told when the partner has taken one. A
// listener keeps no list of its own: each look goes to the engine.

/** A file that waits for the partner. Two entries with one id are the same file. */
export interface OutgoingEntry {
  readonly id: string
  /** The code of the channel it is sent by. */
  readonly channel: string
  readonly name: string
  readonly size: number
  readonly mtimeMs: number
}

/** An entry opened for reading. Reads ascend when the client reads in order, and may come at any position. */
export interface OutgoingFile {
  read(into: Uint8Array, position: number): Promise<number>
  close(): Promise<void>
}

export interface Outbox {
  /** The codes of the channels whose files are shown under the application. */
  channels(application: string): Promise<readonly string[]>
  /** At most as many as the listing limit are shown; oldest first is a good order. */
  list(application: string): Promise<readonly OutgoingEntry[]>
  find(application: string, name: string): Promise<OutgoingEntry | undefined>
  open(application: string, entry: OutgoingEntry): Promise<OutgoingFile>
  /**
   * The partner has read every octet and closed the file, or has removed it. Resolves when that is recorded: only
   * then does the partner get its answer. May be called again for the same entry. Rejects where the entry was withdrawn:
   * it does not count as taken, and lies there again after a retry.
   */
  taken(application: string, entry: OutgoingEntry, how: 'read' | 'removed'): Promise<void>
}

/** An upload of an earlier connection that was cut off, so that a client can ask for its size and go on. */
export interface KeptUpload {
  readonly name: string
  readonly size: number
}
