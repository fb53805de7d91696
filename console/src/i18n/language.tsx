// The language in use, its texts, and dates, sizes and rates in local form. The user's choice comes before the
// account's language. The browser remembers only the choice.

import { createContext, useContext, useEffect, useMemo, useState } from 'react'
import type { ReactNode } from 'react'
import { en } from './en.ts'
import type { Words } from './en.ts'
import { es } from './es.ts'
import { makeFormats } from './formats.ts'
import type { Formats } from './formats.ts'

export type Language = 'en' | 'es'
export const LANGUAGES: Record<Language, Words> = { en, es }
const CHOICE = 'esclusa-language'

type LanguageState = {
  language: Language
  words: Words
  formats: Formats
  /** The user's choice. */
  choose(language: Language): void
  /** The account's language; a choice made before stays. */
  suggest(language: string): void
}

const LanguageContext = createContext<LanguageState | undefined>(undefined)

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [chosen, setChosen] = useState(() => known(localStorage.getItem(CHOICE)))
  const [suggested, setSuggested] = useState(() => known(navigator.language))
  const language = chosen ?? suggested ?? 'en'
  useEffect(() => {
    document.documentElement.lang = language
  }, [language])
  const state = useMemo<LanguageState>(
    () => ({
      language,
      words: LANGUAGES[language],
      formats: makeFormats(regionOf(language)),
      choose: (wanted) => {
        localStorage.setItem(CHOICE, wanted)
        setChosen(wanted)
      },
      suggest: (wanted) => setSuggested(known(wanted)),
    }),
    [language],
  )
  return <LanguageContext value={state}>{children}</LanguageContext>
}

function known(tag: string | null): Language | undefined {
  const language = tag?.slice(0, 2).toLowerCase()
  return language === 'en' || language === 'es' ? language : undefined
}

/** The browser knows the region: dates are written differently in en-GB and en-US. */
function regionOf(language: Language): string {
  return navigator.languages.find((tag) => known(tag) === language) ?? (language === 'en' ? 'en-GB' : 'es-ES')
}

export function useLanguage(): LanguageState {
  const state = useContext(LanguageContext)
  if (!state) throw new Error('useLanguage outside LanguageProvider')
  return state
}

export function useWords(): Words {
  return useLanguage().words
}

export function useFormats(): Formats {
  return useLanguage().formats
}
