// A page's heading, which is the document's title too.

import { Title } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { ReactNode } from 'react'
import { useWords } from '../i18n/language.tsx'

type Props = { text: string; badge?: ReactNode; subtitle?: string | undefined; children?: ReactNode }

const plain = document.title

/** Of all that is shown now: the sign-in lies over a page. The last is the document's. */
const titles: { text: string }[] = []

function tell(): void {
  document.title = titles.at(-1)?.text ?? plain
}

/** The document's title while this is shown. Whatever comes after it without one does not go by its name. */
export function useTitle(text: string): void {
  const { name } = useWords().app
  const [own] = useState({ text: '' })
  useEffect(() => {
    titles.push(own)
    return () => {
      titles.splice(titles.indexOf(own), 1)
      tell()
    }
  }, [own])
  useEffect(() => {
    own.text = `${text} · ${name}`
    tell()
  }, [own, text, name])
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
