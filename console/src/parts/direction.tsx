// Which way files go, as an arrow and a word.

import { IconArrowDownLeft, IconArrowUpRight, IconArrowsLeftRight } from '@tabler/icons-react'
import type { Direction as Way } from '../../../src/contract/channel.ts'
import { useWords } from '../i18n/language.tsx'

const ICONS = { EMISION: IconArrowUpRight, RECEPCION: IconArrowDownLeft, BIDIRECCIONAL: IconArrowsLeftRight }

export function Direction({ way }: { way: Way | undefined }) {
  const words = useWords()
  const Icon = ICONS[way ?? 'BIDIRECCIONAL']
  return (
    <span className="direction">
      <Icon size={16} stroke={1.8} aria-hidden />
      {words.direction[way ?? 'BIDIRECCIONAL']}
    </span>
  )
}
