// Names under which files lie until they are whole, whoever writes them: hidden ones, and those that common clients give.

const TEMPORARY = /\.(?:part|filepart|partial|tmp|temp)$/i

/** It is handed over, or fetched, when it gets another one. */
export function isTemporaryName(name: string): boolean {
  return name.startsWith('.') || TEMPORARY.test(name)
}
