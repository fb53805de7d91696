// Why something failed: what the kind of error means, in the user's language, and the node's own words below.

import { Text } from '@mantine/core'
import type { ErrorCode } from '../../../src/errors.ts'
import { useWords } from '../i18n/language.tsx'

export function Reason({ code, text }: { code: string | undefined; text: string | undefined }) {
  const { errors } = useWords()
  const meaning = code !== undefined && code in errors ? errors[code as ErrorCode] : undefined
  return (
    <div>
      {meaning && <Text fz="sm">{meaning}</Text>}
      {text && (
        <Text fz={meaning ? 'xs' : 'sm'} c={meaning ? 'dimmed' : undefined} className="words">
          {text}
        </Text>
      )}
    </div>
  )
}
