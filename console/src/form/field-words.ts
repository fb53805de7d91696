// A field's name, effect and values in the language in use, and what it counts as where it is not set.

import { CHANNEL_DEFAULTS } from '../../../src/domain/fields/defaults.ts'
import { useLanguage } from '../i18n/language.tsx'
import type { Language } from '../i18n/language.tsx'
import { labelsEn, valuesEn } from './fields-en.ts'
import { labelsEs, valuesEs } from './fields-es.ts'
import { helpIn } from './help.ts'
import { patternOf, schemaAt } from './schema.ts'

const LABELS: Record<Language, Record<string, string>> = { en: labelsEn, es: labelsEs }
const VALUES: Record<Language, Record<string, string>> = { en: valuesEn, es: valuesEs }

export function useFieldWords() {
  const { language, words } = useLanguage()
  const set = (pointer: string, raw: string) => {
    const { type } = schemaAt(pointer)
    if (type === 'boolean') return raw === 'true' ? words.app.yes : words.app.no
    return VALUES[language][`${pointer.slice(pointer.lastIndexOf('/') + 1)}.${raw}`] ?? raw
  }
  /** Undefined: nothing stands in for it. */
  const byDefault = (pointer: string) => {
    const raw = CHANNEL_DEFAULTS[patternOf(pointer)]
    if (raw === undefined) return undefined
    return pointer.endsWith('/active') ? words.app.open : set(pointer, raw)
  }
  const unset = (pointer: string) => {
    const value = byDefault(pointer)
    return value === undefined ? words.app.unset : words.app.unsetAs(value)
  }
  return {
    label: (pointer: string) => LABELS[language][patternOf(pointer)] ?? pointer,
    help: (pointer: string) => helpIn(language, pointer),
    unset,
    value: (pointer: string, raw: string) => (raw === '' ? unset(pointer) : set(pointer, raw)),
  }
}
