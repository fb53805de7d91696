// Which names a partner may give to a file that it brings. The file lies in a folder where people and programs work: a
// name must not hide it, pass for an option of a command, or look like another name.

/** Marks that turn the direction of text, and other characters that show nothing. */
const UNSEEN = /[\p{Cc}\p{Cf}\u2028\u2029]/u

/** What is wrong with it, to be told to the partner; undefined: nothing. */
export function nameFault(name: string): string | undefined {
  if (name === '' || name === '..' || /[/\0]/.test(name) || Buffer.byteLength(name) > 255)
    return 'the file’s name is not a plain name of at most 255 octets'
  if (name.startsWith('.')) return 'the file’s name begins with a dot, which would hide the file'
  if (name.startsWith('-')) return 'the file’s name begins with a hyphen, as options of commands do'
  if (UNSEEN.test(name)) return 'the file’s name holds characters that cannot be seen'
  return undefined
}
