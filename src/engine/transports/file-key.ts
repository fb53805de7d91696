// What names one file between the two ends, and those.

/** Date and counter are fixed when the transfer is made; `name` is what the protocol may have to shorten. */
export interface FileKey {
  readonly name: string
  /** CCYYMMDD */
  readonly date: string
  /** HHMMSScccc; cccc is 0000 where the partner's protocol has no counter. */
  readonly time: string
}

/** Who made a file and who is to have it, as they travel. The codes of a session are those of the two that talk. */
export type EndPoints = { readonly originator: string; readonly destination: string }
