// What an error's cause says, finer than its code.

/** What is wrong with a file, finer than the error's code says: the cause of the error that refuses it. */
export type FileFlaw = {
  flaw:
    | 'name'
    | 'unsigned'
    | 'signed'
    | 'encrypted'
    | 'compression'
    | 'weak'
    | 'originator'
    | 'destination'
    | 'direction'
}

/** The cause of an error that stands for an answer: no compressed files; or, after `placing`, that it has not the file. */
export type PartnerAnswer = { refuses?: 'compression'; placed?: false }
