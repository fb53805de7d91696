// What each field does, in words that the page itself uses. The English is the contract's own description where that names
// nothing by its name on the wire.

import { helpEn } from './fields-en.ts'
import { helpEs } from './fields-es.ts'
import { patternOf, schemaAt } from './schema.ts'

export function helpIn(language: 'en' | 'es', pointer: string): string {
  const pattern = patternOf(pointer)
  if (language === 'es') return helpEs[pattern] ?? ''
  return helpEn[pattern] ?? schemaAt(pointer).description ?? ''
}
