// A page's heading, which is the document's title too.

import { Title } from '@mantine/core'
import { useEffect } from 'react'
import type { ReactNode } from 'react'
import { useWords } from '../i18n/language.tsx'

type Props = { text: string; badge?: ReactNode; subtitle?: string | undefined; children?: ReactNode }

/** The document's title while this is shown. Whatever comes after it without one does not go by its name. */
export function useTitle(text: string): void {
  const { name } = useWords().app
  useEffect(() => {
    const before = document.title
    document.title = `${text} · ${name}`
    return () => {
      document.title = before
    }
  }, [text, name])
}

export function PageTitle({ text, badge, subtitle, children }: Props) {
  useTitle(text)
  return (
    <div className="page-title">
      <div>
        <div className="title-line">
          <Title order={1} tabIndex={-1}>
            {text}
          </Title>
          {badge}
        </div>
        {subtitle && <p className="subtitle">{subtitle}</p>}
      </div>
      {children}
    </div>
  )
}
