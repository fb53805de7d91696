// Language and appearance. The browser remembers these two, and nothing else.

import { SegmentedControl, useMantineColorScheme } from '@mantine/core'
import { LANGUAGES, useLanguage } from '../i18n/language.tsx'
import type { Language } from '../i18n/language.tsx'

export function LanguageChoice() {
  const { language, choose, words } = useLanguage()
  return (
    <SegmentedControl
      size="xs"
      fullWidth
      aria-label={words.app.language}
      value={language}
      onChange={(value) => choose(value as Language)}
      data={Object.entries(LANGUAGES).map(([value, { languageName }]) => ({ value, label: languageName }))}
    />
  )
}

export function ThemeChoice() {
  const { words } = useLanguage()
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  return (
    <SegmentedControl
      size="xs"
      fullWidth
      aria-label={words.app.theme}
      value={colorScheme}
      onChange={(value) => setColorScheme(value)}
      data={[
        { value: 'light', label: words.app.light },
        { value: 'dark', label: words.app.dark },
        { value: 'auto', label: words.app.auto },
      ]}
    />
  )
}
