// A page's heading, which is the document's title too.

import { Title } from '@mantine/core'
import { useEffect, useRef } from 'react'
import type { ReactNode } from 'react'
import { useWords } from '../i18n/language.tsx'

/** Where the page was first opened: there the browser itself says where the focus is. */
const FIRST_PATH = location.pathname
let hasMoved = false

type Props = { text: string; badge?: ReactNode; subtitle?: string | undefined; children?: ReactNode }

export function PageTitle({ text, badge, subtitle, children }: Props) {
  const words = useWords()
  const heading = useRef<HTMLHeadingElement>(null)
  // What was clicked to come here is gone: without this the focus would be nowhere.
  useEffect(() => {
    hasMoved ||= location.pathname !== FIRST_PATH
    if (hasMoved && document.activeElement === document.body) heading.current?.focus({ preventScroll: true })
  }, [])
  useEffect(() => {
    document.title = `${text} · ${words.app.name}`
  }, [text, words])
  return (
    <div className="page-title">
      <div>
        <div className="title-line">
          <Title order={1} ref={heading} tabIndex={-1}>
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
