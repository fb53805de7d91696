// A notice with a tone. Only its edge is coloured, so that the text keeps its contrast.

import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Tone } from './status-badge.tsx'

type Props = {
  tone: Tone
  /** With one, goToFirst can bring it into view and put the focus on it. */
  id?: string
  title?: string
  icon?: ReactNode
  role?: 'alert' | 'status'
  className?: string
  children: ReactNode
}

export function Notice({ tone, id, title, icon, role, className = '', children }: Props) {
  return (
    <div
      className={`notice ${className}`}
      data-tone={tone}
      role={role}
      id={id}
      tabIndex={id === undefined ? undefined : -1}
    >
      {icon && <div className="notice-icon">{icon}</div>}
      <div className="notice-body">
        {title && (
          <Text fw={650} fz="sm" mb={4}>
            {title}
          </Text>
        )}
        {children}
      </div>
    </div>
  )
}
