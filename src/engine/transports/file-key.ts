// What names one file between the two ends.

/** Date and counter are fixed when the transfer is made; `name` is what the protocol may have to shorten. */
export interface FileKey {
  readonly name: string
  /** CCYYMMDD */
  readonly date: string
  /** HHMMSScccc; cccc is 0000 where the partner's protocol has no counter. */
  readonly time: string
}
