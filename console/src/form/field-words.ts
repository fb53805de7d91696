// A field's name, effect and values in the language in use. The English effect is the contract's own description.

import { useLanguage } from '../i18n/language.tsx'
import type { Language } from '../i18n/language.tsx'
import { labelsEn, valuesEn } from './fields-en.ts'
import { helpEs, labelsEs, valuesEs } from './fields-es.ts'
import { patternOf, schemaAt } from './schema.ts'

const LABELS: Record<Language, Record<string, string>> = { en: labelsEn, es: labelsEs }
const VALUES: Record<Language, Record<string, string>> = { en: valuesEn, es: valuesEs }

export function useFieldWords() {
  const { language, words } = useLanguage()
  const value = (pointer: string, raw: string) => {
    if (raw === '') return words.app.unset
    const { type } = schemaAt(pointer)
    if (type === 'boolean') return raw === 'true' ? words.app.yes : words.app.no
    return VALUES[language][`${pointer.slice(pointer.lastIndexOf('/') + 1)}.${raw}`] ?? raw
  }
  return {
    label: (pointer: string) => LABELS[language][patternOf(pointer)] ?? pointer,
    help: (pointer: string) =>
      language === 'es' ? (helpEs[patternOf(pointer)] ?? '') : (schemaAt(pointer).description ?? ''),
    value,
  }
}
