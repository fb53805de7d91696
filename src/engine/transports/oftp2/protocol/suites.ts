// Cipher suites by the two digits that SFIDCIPH has.

import { OFTP2_SUITES } from '../../../../contract/contact-settings.ts'
import type { Oftp2Suite, Protection } from '../../../../contract/contact-settings.ts'

export function suiteOf(code: string): Protection | undefined {
  return Object.hasOwn(OFTP2_SUITES, code) ? OFTP2_SUITES[code as Oftp2Suite] : undefined // hasOwn is the proof
}
