// A page's heading, which is the document's title too.

import { Title } from '@mantine/core'
import { useEffect } from 'react'
import type { ReactNode } from 'react'
import { useWords } from '../i18n/language.tsx'

export function PageTitle({ text, children }: { text: string; children?: ReactNode }) {
  const words = useWords()
  useEffect(() => {
    document.title = `${text} · ${words.app.name}`
  }, [text, words])
  return (
    <div className="page-title">
      <Title order={1}>{text}</Title>
      {children}
    </div>
  )
}
