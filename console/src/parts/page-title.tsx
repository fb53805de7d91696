// A page's heading, which is the document's title too.

import { Title } from '@mantine/core'
import { useEffect } from 'react'
import type { ReactNode } from 'react'
import { useWords } from '../i18n/language.tsx'

type Props = { text: string; badge?: ReactNode; subtitle?: string | undefined; children?: ReactNode }

export function PageTitle({ text, badge, subtitle, children }: Props) {
  const words = useWords()
  useEffect(() => {
    document.title = `${text} · ${words.app.name}`
  }, [text, words])
  return (
    <div className="page-title">
      <div>
        <div className="title-line">
          <Title order={1}>{text}</Title>
          {badge}
        </div>
        {subtitle && <p className="subtitle">{subtitle}</p>}
      </div>
      {children}
    </div>
  )
}
